"""Decision trees: which leaf of each tree a row of features ends at."""
