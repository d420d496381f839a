"""What operations on registers become on a processor: a module for each family, and what they are written with."""
