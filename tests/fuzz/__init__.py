"""Random models and damaged files: what compiles must be right, what is refused must be refused in one line.

    PYTHONPATH=tests python -m fuzz --seconds 600        (`make fuzz SECONDS=600`)

`drafts` and `drawers` make random models whose values onnxruntime knows, `models` compares what they compile
to by every route of `routes`, `damage_models`, `damage_ir` and `damage_caches` break files, `isolation` gives each case
a process that may die, `minimise` makes a model that fails small.
"""
