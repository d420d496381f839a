"""Models in, one package for each format."""
