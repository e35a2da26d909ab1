"""What the tests share, and plyvel's test-suite on braiddb (scripts/python.sh fetches it)."""

import pathlib
import sys

import pytest

import braiddb

# `import plyvel` in plyvel's own tests finds braiddb.
sys.modules["plyvel"] = braiddb

@pytest.fixture
def path(tmp_path: pathlib.Path) -> str:
    return str(tmp_path / "pool")


@pytest.fixture
def db(path):
    with braiddb.DB(path, create_if_missing=True) as opened:
        yield opened
