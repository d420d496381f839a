"""Constants that kernels read in less time: rounded, where that may be."""
