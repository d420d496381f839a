"""The driver: models compiled in this process or to files, kept on disk, with self-tests."""
