"""Settings of all tests: the same examples on every run, and no clock."""

import pytest
from hypothesis import settings

settings.register_profile("kinetree", derandomize=True, deadline=None)
settings.load_profile("kinetree")


@pytest.fixture(scope="session", autouse=True)
def no_cache_of_the_user(tmp_path_factory):
    """Compiled code is kept in a folder of the test run, also by the programs that tests start."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KINETREE_CACHE_DIR", str(tmp_path_factory.mktemp("compiled")))
        patch.delenv("KINETREE_CACHE", raising=False)
        patch.delenv("KINETREE_CACHE_SIZE", raising=False)
        yield


@pytest.fixture
def fifty_digits():
    """Mpmath works with 50 digits during the test."""
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(50):
        yield
