"""Cost models: sizes and a machine in, schedules and cycles out."""
