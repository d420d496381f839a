"""Models whose shapes are open: compiled for the extents that arrive, kept, and called through bytecode at first."""
