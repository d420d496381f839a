"""Groups that compute some rows at a time, in one kernel.

Which rows they read (`group_rows`), how they keep pace (`stages`, `pace`), which rows are in memory between them
(`rings`), and how far results trail operands (`trails`).
"""
