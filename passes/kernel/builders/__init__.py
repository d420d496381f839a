"""What loop nests are written with: scalars, loops, register tiles, iteration spaces."""
