"""The IR: operations, types and attributes of our dialects, and what they are built with."""
