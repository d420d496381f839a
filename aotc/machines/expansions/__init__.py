"""Operations on registers as instructions of a processor: a module for each family, what they are written with
(`vocabulary`), and what they cost (`counting`)."""
