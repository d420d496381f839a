"""From floats to narrow integers: data sets, quantising a model on one, and what that costs in accuracy and memory."""
