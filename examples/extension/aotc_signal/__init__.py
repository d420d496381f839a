"""An out-of-tree extension of aotc: the pre-emphasis filter of speech front ends as an operator of its own."""
