"""Dialects of loops and memory to the llvm dialect, and the entry to bytecode."""
