"""Integer arithmetic rewritten into what the machine multiplies best: the same results from other numbers."""
