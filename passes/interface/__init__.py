"""How a model is called: calling conventions, pointers, weights, threads, self-tests."""
