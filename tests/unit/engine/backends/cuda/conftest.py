"""CuPy with a GPU; tests that ask for it skip without one."""

import pytest

from kinetree.engine.cuda import launch as toolkit
from kinetree.errors import KinetreeError


@pytest.fixture(scope="session")
def cp():
    try:
        return toolkit.require_device()
    except KinetreeError as problem:
        pytest.skip(f"no GPU to run on: {problem}")
