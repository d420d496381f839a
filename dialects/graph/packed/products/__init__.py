"""Matrix products with packed weights."""
