"""What is computed: passes on tensor operations, whatever the target."""
