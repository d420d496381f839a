"""The C runtime: files that go beside generated code, or into a library with it."""
