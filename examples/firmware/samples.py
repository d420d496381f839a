"""Writes the recordings beside the model as C arrays: `python samples.py > samples.h`."""

from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent.parent / "micro_speech"

print("#include <stdint.h>\n")
for name in ("yes", "no"):
    with np.load(FOLDER / f"{name}.npz") as archive:
        (features,) = (archive[key] for key in archive.files)
    numbers = ", ".join(str(number) for number in features.ravel())
    print(f"static const int8_t {name}[{features.size}] = {{{numbers}}};")
