"""The way of a module through the phases: options, order, dialects and passes by name, verification."""
