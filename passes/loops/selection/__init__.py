"""Operations on registers as instructions of a processor: a module for each family, and what they are written with."""
