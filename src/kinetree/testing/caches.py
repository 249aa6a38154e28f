"""The cache on disk: entries are found again; damaged, exchanged and foreign ones are not used."""

import hashlib
import os
import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from kinetree import robots
from kinetree.engine.cache import entries, folder
from kinetree.robot import Robot
from kinetree.testing.calls import states
from kinetree.testing.machine import CACHE_VARIABLES, has_llvm
from kinetree.testing.record import Finding, Options, equal, skipped

COMPILED = {"emit", "parse", "code generation"}  # stages of a kernel that is compiled
READ = "read from the cache"


def answer(robot: Robot | None = None, quantity: str = "inverse_dynamics") -> tuple[str, str]:
    """Make a kernel of a new robot; return a hash of some results, and how it was made."""
    robot = robots.spatial_3r() if robot is None else robot
    kernel = robot.compile(quantity).wait()
    arguments = states(16, len(kernel.graph.inputs), robot.n)
    bits = hashlib.sha256(np.ascontiguousarray(kernel(*arguments)).tobytes()).hexdigest()[:16]
    stages = {stage.name for stage in kernel.notes.stages}
    parts = ("traced" * ("trace" in stages), "compiled" * bool(stages & COMPILED))
    return bits, " and ".join(filter(None, parts)) or READ


def made() -> str:
    """Return how a kernel is made that is not in the cache."""
    return "traced and compiled" if has_llvm() else "traced"


@contextmanager
def environment(values: Mapping[str, str | None]) -> Generator[None]:
    """Set variables of the environment for the block; None removes one."""
    before = dict(os.environ)
    try:
        for name in values:
            os.environ.pop(name, None)
        os.environ.update({name: x for name, x in values.items() if x is not None})
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextmanager
def empty_cache() -> Generator[Path]:
    """Use an empty folder as the cache."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        place = Path(name) / "cache"
        values: dict[str, str | None] = dict.fromkeys(CACHE_VARIABLES)
        with environment(values | {"KINETREE_CACHE_DIR": str(place)}):
            yield place


def uncached(robot: Robot | None = None, quantity: str = "inverse_dynamics") -> str:
    """Return the hash of a kernel that is made without the cache."""
    with environment({"KINETREE_CACHE": "0"}):
        return answer(robot, quantity)[0]


def stored(place: Path) -> list[Path]:
    """Return the files of the entries in a folder, in a fixed order."""
    return sorted(place.glob(f"*{entries.SUFFIX}"))


def whole(path: Path) -> bool:
    """Return True if the seal of an entry is that of its content, or the entry was removed."""
    try:
        return entries.unseal(path.stem, path.read_bytes()) is not None
    except OSError:
        return True


def flipped(data: bytes, at: int) -> bytes:
    """Return the data with one bit of a byte changed."""
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "one bit changed in the middle": lambda data: flipped(data, len(data) // 2),
    "its seal changed": lambda data: flipped(data, 30),
    "cut to a half": lambda data: data[: len(data) // 2],
    "empty": lambda data: b"",
}


def reuse(_: Options) -> Iterator[Finding]:
    """Check that stored entries are used, and that damaged and exchanged ones are replaced."""
    bits = uncached()
    with empty_cache() as place:
        yield equal("a first kernel", (bits, made()), answer())
        yield equal("a second kernel", (bits, READ), answer())
        paths = stored(place)
        answer(robots.rp())
        other = next(path for path in stored(place) if path not in paths).read_bytes()
        for number, path in enumerate(paths, 1):
            data = path.read_bytes()
            damaged = {title: change(data) for title, change in DAMAGES.items()}
            for title, content in (damaged | {"replaced by another one": other}).items():
                path.write_bytes(content)
                made_again = answer()[0], whole(path)
                yield equal(
                    f"entry {number}, {title}: bits, and entry is whole", (bits, True), made_again
                )
                path.write_bytes(data)


def keys(_: Options) -> Iterator[Finding]:
    """Check that an entry is used for its own robot, quantity, number type and processor only."""
    with empty_cache():
        answer()
        model = robots.spatial_3r().model
        m = np.array([*model.m[:-1], np.nextafter(model.m[-1], np.inf)])
        # a new robot for each, since a robot remembers its kernels
        fresh = uncached(Robot(model.replace(m=m)))
        cached = answer(Robot(model.replace(m=m)))
        yield equal("a mass that differs in its last bit", (fresh, made()), cached)
    if not has_llvm():
        yield skipped("keys of machine code", "without llvmlite no machine code is stored")
        return
    from kinetree.engine.llvm.programs import code_key
    from kinetree.engine.llvm.target import LANES, host_target

    host = host_target()
    targets = [
        host,
        replace(host, cpu=f"{host.cpu}-other"),
        replace(host, features=f"{host.features},-none"),
        replace(host, triple=f"{host.triple}-other"),
        *(host.with_lanes(n) for n in LANES if n != host.lanes64),
    ]
    all_keys = {
        code_key(["graph", x], target) for target in targets for x in ("float64", "float32")
    }
    title = "keys of machine code for other processors, features, systems and number types"
    yield equal(title, 2 * len(targets), len(all_keys))


def own_cache(options: Options) -> Iterator[Finding]:
    """Check the user's own cache: every entry is whole, and kernels from it have the same bits."""
    with environment(options.own_cache):
        if not folder.enabled():
            yield skipped("your own cache", "KINETREE_CACHE=0 switches it off")
            return
        try:
            paths = stored(folder.folder())
        except OSError as problem:
            yield skipped("your own cache", str(problem))
            return
        advice = "Run: kinetree cache clear. Damaged entries are compiled again, never used."
        damaged = sum(not whole(path) for path in paths)
        yield equal("damaged entries of your own cache", 0, damaged, advice)
        for make in (robots.planar_2r, robots.panda):
            for quantity in ("inverse_dynamics", "forward_dynamics", "mass_matrix"):
                fresh, cached = uncached(make(), quantity), answer(make(), quantity)[0]
                title = f"your own cache: {make.__name__}, {quantity}"
                yield equal(title, fresh, cached, advice)


PARTS = (reuse, keys, own_cache)
