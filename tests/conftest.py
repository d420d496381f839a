"""Tests compile what they test: no result comes from the cache, unless a test asks for one of its own."""

import os

os.environ["AOTC_CACHE_DIR"] = ""
