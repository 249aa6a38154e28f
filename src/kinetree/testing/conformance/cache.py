"""The cache on disk: entries are found again, damaged ones are never used, trouble is survived.

The checks run in a process of their own, with a folder of their own: machine code that should have
been refused may end the process, which is then the finding.
"""

import hashlib
import os
import stat
import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from kinetree import robots
from kinetree.engine.cache import entries, folder
from kinetree.robot import Robot
from kinetree.testing.conformance.calls import states
from kinetree.testing.conformance.machine import CACHE_VARIABLES, has_llvm
from kinetree.testing.conformance.record import Choice, Finding, compared, equal, skipped

COMPILED = {"emit", "parse", "code generation"}  # stages of a kernel that is compiled
READ = "read from the cache"


@dataclass(frozen=True)
class Answer:
    """Hash of some results of a kernel, and how the kernel was made."""

    bits: str
    how: str


def answer(robot: Robot | None = None, quantity: str = "inverse_dynamics") -> Answer:
    """Make a kernel of a new robot, and call it."""
    robot = robots.spatial_3r() if robot is None else robot
    kernel = robot.compile(quantity).wait()
    arguments = states(16, len(kernel.graph.inputs), robot.n)
    bits = hashlib.sha256(np.ascontiguousarray(kernel(*arguments)).tobytes()).hexdigest()[:16]
    stages = {stage.name for stage in kernel.notes.stages}
    parts = ("traced" * ("trace" in stages), "compiled" * bool(stages & COMPILED))
    return Answer(bits, " and ".join(filter(None, parts)) or READ)


@contextmanager
def surroundings(values: Mapping[str, str | None]) -> Generator[None]:
    """Set variables of the environment for the block; None removes one."""
    before = {name: os.environ.get(name) for name in values}

    def assign(values: Mapping[str, str | None]) -> None:
        for name, value in values.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value

    try:
        assign(values)
        yield
    finally:
        assign(before)


@contextmanager
def empty_cache() -> Generator[Path]:
    """Use an empty folder as the cache."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        place = Path(name) / "cache"
        values: dict[str, str | None] = dict.fromkeys(CACHE_VARIABLES)
        with surroundings(values | {"KINETREE_CACHE_DIR": str(place)}):
            yield place


def uncached(robot: Robot | None = None, quantity: str = "inverse_dynamics") -> Answer:
    """Return the answer of a kernel that is made without the cache."""
    with surroundings({"KINETREE_CACHE": "0"}):
        return answer(robot, quantity)


def stored(place: Path) -> list[Path]:
    """Return the files of the entries in a folder, in a fixed order."""
    return sorted(place.glob(f"*{entries.SUFFIX}"))


def whole(path: Path) -> bool:
    """Return True if the seal of an entry is that of its content."""
    return entries.unseal(path.stem, path.read_bytes()) is not None


def flipped(data: bytes, at: int) -> bytes:
    """Return the data with one bit of a byte changed."""
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "one bit changed in the middle": lambda data: flipped(data, len(data) // 2),
    "the last byte changed": lambda data: flipped(data, len(data) - 1),
    "its seal changed": lambda data: flipped(data, 30),
    "cut to a half": lambda data: data[: len(data) // 2],
    "empty": lambda data: b"",
}


def reuse(_: Choice) -> Iterator[Finding]:
    """Check that stored entries are used, and that damaged and exchanged ones are replaced."""
    reference = uncached().bits
    with empty_cache() as place:
        made = "traced and compiled" if has_llvm() else "traced"
        for title, how in (("first", made), ("second", READ)):
            found = answer()
            yield equal(f"a {title} kernel is {how}", how, found.how)
            yield equal(f"bits of a {title} kernel", reference, found.bits)
        paths = stored(place)
        answer(robots.rp())
        other = next(path for path in stored(place) if path not in paths).read_bytes()
        for number, path in enumerate(paths, 1):
            data = path.read_bytes()
            damaged = {title: change(data) for title, change in DAMAGES.items()}
            for title, content in (damaged | {"replaced by another one": other}).items():
                path.write_bytes(content)
                yield equal(f"entry {number}, {title}: bits", reference, answer().bits)
                yield compared(
                    f"entry {number}, {title}: is replaced", whole(path), "a whole entry", "damaged"
                )
                path.write_bytes(data)


def keys(_: Choice) -> Iterator[Finding]:
    """Check that an entry is used for its own robot, quantity, number type and processor only."""
    with empty_cache():
        answer()
        model = robots.spatial_3r().model
        m = np.array([*model.m[:-1], np.nextafter(model.m[-1], np.inf)])
        # two robots, since a robot remembers its kernels
        found, expected = (make(Robot(model.replace(m=m))) for make in (answer, uncached))
        yield equal("a mass that differs in its last bit: bits", expected.bits, found.bits)
        yield equal("a mass that differs in its last bit: is made", expected.how, found.how)
    if not has_llvm():
        yield skipped("keys of machine code", "without llvmlite no machine code is stored")
        return
    from kinetree.engine.llvm.programs import code_key
    from kinetree.engine.llvm.target import LANES, host_target

    host = host_target()
    targets = {
        "another processor": replace(host, cpu=f"{host.cpu}-other"),
        "other features": replace(host, features=f"{host.features},-none"),
        "another system": replace(host, triple=f"{host.triple}-other"),
        **{f"{n} states at a time": host.with_lanes(n) for n in LANES if n != host.lanes64},
    }
    all_keys = {code_key(["graph", dtype], host) for dtype in ("float64", "float32")}
    yield equal("keys of machine code in float64 and float32", 2, len(all_keys))
    for title, target in targets.items():
        key = code_key(["graph", "float64"], target)
        yield equal(f"key of machine code for {title} is new", True, key not in all_keys)
        all_keys.add(key)


def trouble(_: Choice) -> Iterator[Finding]:
    """Check folders that cannot be made, written or trusted, and the limit of the size."""
    reference = uncached().bits
    with empty_cache() as place:
        blocker = place.parent / "file"
        blocker.write_bytes(b"not a folder")
        with surroundings({"KINETREE_CACHE_DIR": str(blocker / "cache")}):
            yield equal("a folder that cannot be made: bits", reference, answer().bits)
        answer()
        size = sum(path.stat().st_size for path in stored(place))
        with surroundings({"KINETREE_CACHE_SIZE": str(size)}):
            answer(robots.rp())
            answer(robots.planar_2r())
        kept = sum(path.stat().st_size for path in stored(place))
        yield compared("KINETREE_CACHE_SIZE", kept <= size, f"at most {size} bytes", kept)
        answer()
        title = "a folder that other users may write"
        os.chmod(place, 0o777)
        if os.name != "posix" or not place.stat().st_mode & stat.S_IWOTH:
            yield skipped(title, "this file system has no permissions")
            return
        found = answer()
        yield equal(f"{title}: bits", reference, found.bits)
        yield compared(f"{title}: is not read", found.how != READ, "a new kernel", found.how)


def own_cache(choice: Choice) -> Iterator[Finding]:
    """Check the user's own cache: every entry is whole, and kernels from it have the same bits."""
    with surroundings(choice.own_cache):
        if not folder.enabled():
            yield skipped("your own cache", "KINETREE_CACHE=0 switches it off")
            return
        advice = "Run: kinetree cache clear. Damaged entries are compiled again, never used."
        try:
            paths = stored(folder.folder())
        except OSError as problem:
            yield skipped("your own cache", str(problem))
            return
        broken = 0
        for path in paths:
            try:
                broken += not whole(path)
            except OSError:  # removed by another process meanwhile
                continue
        yield equal("damaged entries of your own cache", 0, broken, advice)
        for make in (robots.planar_2r, robots.panda):
            for quantity in ("inverse_dynamics", "forward_dynamics", "mass_matrix"):
                fresh, own = uncached(make(), quantity), answer(make(), quantity)
                title = f"your own cache: {make.__name__}, {quantity}"
                yield equal(title, fresh.bits, own.bits, advice)


PARTS = (reuse, keys, trouble, own_cache)
