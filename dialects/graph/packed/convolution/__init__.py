"""Convolution of floats in the NCHWc layout, and how channels lie there."""
