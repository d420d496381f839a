"""LLVM: its text, optimisation, objects, libraries, and code in this process."""
