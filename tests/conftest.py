"""Settings of all tests: the same examples on every run, and no clock."""

import gc
import math
import os
import subprocess
import sys
import time
import warnings
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from cli_program import Server

with warnings.catch_warnings():
    warnings.simplefilter("ignore", ImportWarning)
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

from kinetree.engine import cache
from kinetree.engine.llvm import engine

# NumPy 2.4 renamed the features that NPY_DISABLE_CPU_FEATURES takes, ignores the old names, and
# warns, which is an error in the programs that tests start. They and the workers get its own names.
disabled = os.environ.get("NPY_DISABLE_CPU_FEATURES", "").replace(",", " ").split()
if any(name not in __cpu_dispatch__ for name in disabled):
    wide = [name for name in __cpu_dispatch__ if name.startswith("AVX512") or name == "X86_V4"]
    wanted = wide if any(name.startswith("AVX512") for name in disabled) else []
    known = [name for name in __cpu_dispatch__ if name in disabled or name in wanted]
    os.environ["NPY_DISABLE_CPU_FEATURES"] = " ".join(x for x in known if __cpu_features__[x])

NO_CLOCK = {"deadline": None, "suppress_health_check": list(HealthCheck)}
settings.register_profile("kinetree", derandomize=True, **NO_CLOCK)
settings.load_profile("kinetree")

DOCS = Path(__file__).resolve().parents[1] / "docs"
LONGEST_BUILD_S = 600.0  # of the documentation, by another process


@dataclass(frozen=True)
class Amount:
    """How many random cases a run takes: cases and seeds of a test, examples of Hypothesis."""

    cases: float
    seeds: float
    examples: float


FEW, USUAL, MANY = Amount(1, 1, 5), Amount(math.inf, 6, 30), Amount(*3 * [math.inf])

# Tests of the machine code itself, which is made there with the effort of the users' code.
# tests/unit/engine/backends/test_robot_bitwise.py proves that less effort gives the same bits.
OWN_EFFORT = ("unit/engine/backends", "unit/engine/golden")
QUICK = 15_000  # lines of IR with a stack of at most 1 MB where nothing is kept in registers


def pytest_addoption(parser):
    parser.addoption("--few", action="store_true", help="few cases of each test, for make check")
    parser.addoption("--many", action="store_true", help="all seeds and examples of each test")
    parser.addoption(
        "--times", type=int, default=1, help="as often the examples, not the same ones"
    )


def pytest_collection_modifyitems(config, items):
    """Keep as many cases, seeds and examples as the run takes."""
    options = config.option
    amount = FEW if options.few else MANY if options.many else USUAL
    seeds = defaultdict(dict)  # of each test, in the order of its cases
    for item in items:
        if "seed" in params(item):
            seeds[function_of(item)][params(item)["seed"]] = None
    kept_seeds = {test: spread(list(values), amount.seeds) for test, values in seeds.items()}
    count, kept, dropped = Counter(), [], []
    for item in items:
        test = function_of(item)
        keep = test not in kept_seeds or params(item)["seed"] in kept_seeds[test]
        keep = keep and (options.many or item.get_closest_marker("many") is None)
        count[test] += keep
        (kept if keep and count[test] <= amount.cases else dropped).append(item)
        if hasattr(item.obj, "hypothesis") and count[test] == 1:
            own = item.obj._hypothesis_internal_use_settings
            most = int(min(amount.examples, own.max_examples)) * options.times
            chosen = settings(own, max_examples=most, derandomize=options.times == 1)
            item.obj._hypothesis_internal_use_settings = chosen
    config.hook.pytest_deselected(items=dropped)
    items[:] = kept


def function_of(item):
    """The function of a test, which its cases share."""
    return item.path, getattr(item, "originalname", item.name)


def params(item):
    """Parameters of a case by name."""
    return item.callspec.params if hasattr(item, "callspec") else {}


def spread(values, count):
    """At most so many of the values, from the first to the last."""
    if len(values) <= count:
        return values
    gap = (len(values) - 1) / max(count - 1, 1)
    return [values[round(k * gap)] for k in range(count)]


def pytest_collection_finish():
    """Collect garbage less often, and spare the modules of the tests, which live until the end."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 10, 10)


def shared_folder(config):
    """The folder of this run, which is the same for all of its processes."""
    run = config._tmp_path_factory.getbasetemp()
    return run.parent if "PYTEST_XDIST_WORKER" in os.environ else run


@pytest.hookimpl(trylast=True)  # pytest makes its folder first
def pytest_configure(config):
    """Keep compiled code in a folder of the run, also in programs that tests start.

    The folder is shared by the processes of the run: no kernel is made twice. It is set before
    modules of tests are imported, because some compute their cases then.
    """
    patch = pytest.MonkeyPatch()
    patch.setenv("KINETREE_CACHE_DIR", str(shared_folder(config) / "compiled"))
    patch.delenv("KINETREE_CACHE", raising=False)
    patch.delenv("KINETREE_CACHE_SIZE", raising=False)
    config.add_cleanup(patch.undo)


@pytest.fixture(scope="session")
def no_cache_of_the_user(pytestconfig):
    """The folder of compiled code."""
    return shared_folder(pytestconfig) / "compiled"


@pytest.fixture(scope="session")
def built_docs(pytestconfig, no_cache_of_the_user):
    """The documentation as HTML: (folder, warnings and errors of the build, which are empty).

    It is built once for all processes of the run: the first one builds, others wait for it.
    """
    pytest.importorskip("furo")
    pytest.importorskip("myst_parser")
    folder = shared_folder(pytestconfig) / "docs"
    html, ended = folder / "html", folder / "ended"
    try:
        folder.mkdir()
    except FileExistsError:
        end = time.monotonic() + LONGEST_BUILD_S
        while not ended.exists() and time.monotonic() < end:
            time.sleep(0.2)
        assert ended.exists(), (
            f"the process that builds {folder} did not end in {LONGEST_BUILD_S} s"
        )
        return html, ended.read_text("utf8")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html"]
    where = [str(DOCS), str(html), "-d", str(folder / "doctrees")]
    quick = os.environ | (quick_programs(no_cache_of_the_user) if os.name == "posix" else {})
    run = {"capture_output": True, "text": True, "check": False, "env": quick}
    found = subprocess.run([*command, *where], **run)
    trouble = (found.stderr or f"exit status {found.returncode}") if found.returncode else ""
    part = folder / "part"
    part.write_text(trouble, "utf8")
    part.rename(ended)
    return html, trouble


@pytest.fixture(scope="module", autouse=True)
def quick_machine_code(request, no_cache_of_the_user):
    """Let the code generator make no effort where its code is not the subject of the tests.

    It is four times as fast then, also in programs that tests start. The code is stored in a folder
    of its own, whose size is not watched: that takes a list of all files at every entry.
    """
    place = request.path.parent.relative_to(Path(__file__).parent).as_posix()
    if place.startswith(OWN_EFFORT) or os.name != "posix":
        yield
        return
    usual = engine.level
    with pytest.MonkeyPatch.context() as patch:
        for name, value in quick_programs(no_cache_of_the_user).items():
            patch.setenv(name, value)
        patch.setattr(engine, "level", lambda text: 0 if text.count("\n") < QUICK else usual(text))
        patch.setattr(cache, "shrink", lambda *given: None)
        yield


def quick_programs(compiled):
    """Environment in which programs make machine code as the tests do (tests/programs)."""
    path = [str(Path(__file__).parent / "programs"), os.environ.get("PYTHONPATH", "")]
    return {
        "KINETREE_CACHE_DIR": str(compiled.with_name("quick")),
        "KINETREE_TESTS_QUICK": str(QUICK),
        "PYTHONPATH": os.pathsep.join(filter(None, path)),
    }


@pytest.fixture(scope="session")
def server():
    """One process that runs the command lines of all tests."""
    process = Server()
    yield process
    process.close()


@pytest.fixture
def fifty_digits():
    """Mpmath works with 50 digits during the test."""
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(50):
        yield
