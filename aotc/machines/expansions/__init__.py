"""Operations on registers as instructions of a processor, family by family, and what they cost.

Expansions are written with a `vocabulary`, over values of any kind; of some that say what they cost, `counting`.
"""
