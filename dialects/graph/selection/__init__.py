"""Operations whose results have a data-dependent extent, as NonZero's.

Results have its bound, the greatest that it can be, and the last result, `count` of rank 0, says how much of them is
valid. What comes after that is -1 in indices.
"""
