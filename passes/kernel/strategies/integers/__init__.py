"""Strategies of integer arithmetic: sums of products of narrow integers, on vectors and on cores without."""
