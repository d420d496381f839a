"""Pure mathematics: which numbers algorithms multiply and add; no IR, no processor."""
