"""Definitions that generated C has where it needs them: functions and macros, of meanings and of intrinsics."""
