"""Sums of products of narrow integers: packed in fours, in pairs of steps, interleaved for cores without vectors."""
