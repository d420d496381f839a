"""Passes on tensor operations, whatever the target."""
