"""Loop nests on register tiles."""
