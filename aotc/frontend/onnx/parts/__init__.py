"""Values that are several tensors, sequences; and values of data-dependent extents."""
