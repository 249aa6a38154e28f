"""Settings of all tests: the same examples on every run, and no clock."""

from collections import Counter

import pytest
from hypothesis import settings

settings.register_profile("kinetree", derandomize=True, deadline=None)
settings.load_profile("kinetree")

CASES, EXAMPLES = 1, 5  # of every test with --few


def pytest_addoption(parser):
    parser.addoption("--few", action="store_true", help="few cases of each test, for make check")


def pytest_collection_modifyitems(config, items):
    """With --few, keep the first cases of parametrised tests and draw few examples."""
    if not config.getoption("--few"):
        return
    seen, kept, dropped = Counter(), [], []
    for item in items:
        test = item.path, getattr(item, "originalname", item.name)
        seen[test] += 1
        (kept if seen[test] <= CASES else dropped).append(item)
        if hasattr(item.obj, "hypothesis") and seen[test] == 1:
            own = item.obj._hypothesis_internal_use_settings
            few = settings(own, max_examples=min(EXAMPLES, own.max_examples))
            item.obj._hypothesis_internal_use_settings = few
    config.hook.pytest_deselected(items=dropped)
    items[:] = kept


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
