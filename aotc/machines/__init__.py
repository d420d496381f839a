"""Targets, and what cost models know of their processors."""
