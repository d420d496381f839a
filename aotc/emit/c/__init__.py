"""The C source and header of a model, printed from IR of the `interface` phase."""
