"""Dialects of loops and memory to the llvm dialect."""
