"""Operations whose result has as many parts as the data say.

Results are as long as they may become, and the last result, `count` of rank 0, says how much of them there is. What
comes after that is -1 in indices.
"""
