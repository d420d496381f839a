"""How kernels are computed: strategies, loop nests, cost models and builders; no passes."""
