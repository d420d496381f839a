"""Sampling of pictures at places that are computed: grids, regions, offsets; folding of windows; boxes."""
