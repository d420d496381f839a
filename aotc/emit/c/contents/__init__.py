"""Contents of a C file beside its functions: symbols, constants, tables, text before them."""
