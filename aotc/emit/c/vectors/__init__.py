"""Vectors in C: values, memory and operations, with GCC's vector extension and by macros."""
