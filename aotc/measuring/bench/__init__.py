"""Models timed against other runtimes: each in a process of its own, in turns."""
