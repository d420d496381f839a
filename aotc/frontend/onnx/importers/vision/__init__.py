"""Operators on pictures: sampling, regions, boxes."""
