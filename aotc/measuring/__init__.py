"""Measurements by running: profiles, the search for schedules, benchmarks."""
