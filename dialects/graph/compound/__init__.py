"""Operations that hold or stand for others: control flow, stages of one kernel, kernels from outside."""
