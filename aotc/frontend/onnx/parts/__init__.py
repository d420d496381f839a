"""Values that are several tensors, sequences; and values with as many parts as the data say."""
