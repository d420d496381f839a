"""How convolutions of floats are computed."""
