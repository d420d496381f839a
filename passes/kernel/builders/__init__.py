"""The vocabulary of loop nests: scalars, loops, register tiles, iteration spaces."""
