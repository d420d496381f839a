"""Mutation tests: the sources are broken in one place after the other, and the nearest tests must notice."""
