"""Makes the modules beside it importable, and says what to do where the tools are not installed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip without the tools; `make test-embedded` sets AOTC_EMBEDDED, and then it is an error."""
    from rig import missing_tools

    missing = ", ".join(missing_tools())
    if missing and os.environ.get("AOTC_EMBEDDED"):
        raise pytest.UsageError(f"missing {missing}; run tests/embedded/install.sh as root")
    if missing:
        for item in items:
            if Path(__file__).parent in item.path.parents:
                item.add_marker(pytest.mark.skip(reason=f"missing {missing}: make test-embedded"))
