"""Settings of all tests: the same examples on every run, and no clock."""

import pytest
from hypothesis import settings

settings.register_profile("kinetree", derandomize=True, deadline=None)
settings.load_profile("kinetree")


@pytest.fixture
def fifty_digits():
    """Mpmath works with 50 digits during the test."""
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(50):
        yield
