"""What is found by running: profiles, the search for schedules, benchmarks."""
