"""Recurrent layers: operations that carry a state from one step of a sequence to the next."""
