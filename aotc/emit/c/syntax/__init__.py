"""Syntax of C: types and literals, expressions as values, text."""
