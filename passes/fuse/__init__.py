"""Kernels: passes that group operations and make functions of the groups."""
