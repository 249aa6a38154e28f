"""The cache on disk: entries are found again, damaged ones are never used, trouble is survived.

The checks run in a process of their own, with a folder of their own: machine code that should have
been refused may end the process, which is then the finding.
"""

import hashlib
import logging
import os
import stat
import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from kinetree import robots
from kinetree.backends.cache import entries, folder
from kinetree.robot import Robot
from kinetree.testing.conformance import processes
from kinetree.testing.conformance.calls import states
from kinetree.testing.conformance.machine import CACHE, has_llvm
from kinetree.testing.conformance.record import Finding, compared, equal, skipped

NO_LLVM = "without llvmlite there is no machine code to store"
MADE = {"emit", "parse", "code generation"}  # stages of a kernel that is compiled
ANSWER = (
    "import json; from kinetree.testing.conformance.cache import answer; "
    "print(json.dumps(answer().__dict__))"
)


@dataclass(frozen=True)
class Answer:
    """Hash of some results of a kernel, and how the kernel was made."""

    bits: str
    traced: bool
    compiled: bool

    @property
    def how(self) -> str:
        """How the kernel was made, in words."""
        parts = ("traced" * self.traced, "compiled" * self.compiled)
        return " and ".join(x for x in parts if x) or "read from the cache"


def answer(robot: Robot | None = None, quantity: str = "inverse_dynamics") -> Answer:
    """Make a kernel that this process has not made yet, and call it."""
    robot = robots.spatial_3r() if robot is None else robot
    kernel = robot.compile(quantity).wait()
    given = states(16, len(kernel.graph.inputs), robot.n)
    bits = hashlib.sha256(np.ascontiguousarray(kernel(*given)).tobytes()).hexdigest()[:16]
    names = {stage.name for stage in kernel.notes.stages}
    return Answer(bits, "trace" in names, bool(names & MADE))


@contextmanager
def surroundings(values: Mapping[str, str | None]) -> Generator[None]:
    """Set variables of the environment for the block; None removes one."""
    before = {name: os.environ.get(name) for name in values}
    try:
        _set(values)
        yield
    finally:
        _set(before)


def _set(values: Mapping[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


@contextmanager
def messages() -> Generator[list[str]]:
    """Collect what kinetree logs in the block."""
    found: list[str] = []

    class Collector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            found.append(record.getMessage())

    log, handler = logging.getLogger("kinetree"), Collector()
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield found
    finally:
        log.removeHandler(handler)
        log.setLevel(level)


@contextmanager
def empty_cache() -> Generator[Path]:
    """Use an empty folder as the cache."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        place = Path(name) / "cache"
        values = {"KINETREE_CACHE_DIR": str(place)} | dict.fromkeys((CACHE[0], CACHE[2]))
        with surroundings(values):
            yield place


def uncached(robot: Robot | None = None) -> Answer:
    """Return the answer of a kernel that is made without the cache."""
    with surroundings({"KINETREE_CACHE": "0"}):
        return answer(robot)


def stored(place: Path) -> list[Path]:
    """Return the files of the entries in a folder, in a fixed order."""
    return sorted(place.glob(f"*{entries.SUFFIX}"))


def whole(path: Path) -> bool:
    """Return True if the seal of an entry is that of its content."""
    return entries.unseal(path.stem, path.read_bytes()) is not None


def reuse() -> Iterator[Finding]:
    """Check that another process, and this one, use what a first process stored."""
    with empty_cache() as place:
        parent = str(place.parent)
        reference = uncached()
        yield equal("KINETREE_CACHE=0 stores nothing", 0, len(stored(place)))
        made = "traced and compiled" if has_llvm() else "traced"
        if processes.available():
            for title, expected in (("first", made), ("second", "read from the cache")):
                found = processes.answers(ANSWER, parent)
                if isinstance(found, processes.Ended):
                    yield equal(f"{title} process", "exit code 0", found.how)
                    continue
                other = Answer(**found)
                yield equal(f"the kernel of a {title} process is {expected}", expected, other.how)
                yield equal(f"bits of a {title} process", reference.bits, other.bits)
        else:
            answer()
        least, count = 2 if has_llvm() else 1, len(stored(place))
        yield compared("entries of one kernel", count >= least, f"{least} or more", count)
        again = answer()
        yield equal("the kernel of this process", "read from the cache", again.how)
        yield equal("bits of a kernel from the cache", reference.bits, again.bits)


def damaged_middle(data: bytes) -> bytes:
    """Return an entry with one bit changed in the middle."""
    at = len(data) // 2
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "one bit changed in the middle": damaged_middle,
    "the last byte changed": lambda data: data[:-1] + bytes([data[-1] ^ 255]),
    "its seal changed": lambda data: data[:30] + bytes([data[30] ^ 1]) + data[31:],
    "cut to a half": lambda data: data[: len(data) // 2],
    "empty": lambda data: b"",
    "zeros": lambda data: bytes(len(data)),
}


def damage() -> Iterator[Finding]:
    """Check that a damaged entry is noticed, replaced, and never used."""
    reference = uncached().bits
    with empty_cache() as place:
        answer()
        for number, path in enumerate(stored(place), 1):
            for title, change in DAMAGES.items():
                data = path.read_bytes()
                path.write_bytes(change(data))
                yield from _survived(f"entry {number}, {title}", path, reference)
                path.write_bytes(data)


def exchange() -> Iterator[Finding]:
    """Check that an entry that was copied over another one is never used."""
    reference = uncached().bits
    with empty_cache() as place:
        answer()
        own = stored(place)
        answer(robots.rp())
        others = [path for path in stored(place) if path not in own]
        for number, path in enumerate(own, 1):
            for other in others:
                data = path.read_bytes()
                path.write_bytes(other.read_bytes())
                yield from _survived(f"entry {number}, replaced by another one", path, reference)
                path.write_bytes(data)


def _survived(title: str, path: Path, reference: str) -> Iterator[Finding]:
    with messages() as texts:
        found = answer()
    noticed = any("is damaged" in text for text in texts)
    yield equal(f"{title}: bits", reference, found.bits)
    yield compared(f"{title}: is noticed", noticed, "a warning that it is damaged", texts)
    yield compared(f"{title}: is replaced", whole(path), "a whole entry", "a damaged entry")


def keys() -> Iterator[Finding]:
    """Check that an entry is used for its own robot, quantity, number type and processor only."""
    with empty_cache():
        answer()
        heavier = robots.spatial_3r()
        m = heavier.model.m.copy()
        m[-1] = np.nextafter(m[-1], np.inf)
        changed = Robot(heavier.model.replace(m=m))
        found, expected = answer(changed), uncached(changed)
        made = "traced and compiled" if has_llvm() else "traced"
        yield equal("a mass that differs in its last bit: the kernel is made anew", made, found.how)
        yield equal("a mass that differs in its last bit: bits", expected.bits, found.bits)
        other = answer(quantity="forward_dynamics")
        yield equal("another quantity: the kernel is made anew", made, other.how)
    if not has_llvm():
        yield skipped("keys of machine code", NO_LLVM)
        return
    from kinetree.backends.llvm.programs import code_key
    from kinetree.backends.llvm.target import LANES, host_target

    host = host_target()
    targets = {
        "this machine": host,
        "another processor": replace(host, cpu=f"{host.cpu}-other"),
        "other features": replace(host, features=f"{host.features},-none"),
        "another system": replace(host, triple=f"{host.triple}-other"),
        **{f"{n} states at a time": host.with_lanes(n) for n in LANES if n != host.lanes64},
    }
    found_keys: dict[str, str] = {}
    for title, target in targets.items():
        key = code_key(["graph", "float64"], target)
        twin = found_keys.get(key)
        result = "its own key" if twin is None else f"the key of {twin}"
        yield equal(f"key of machine code for {title}", "its own key", result)
        found_keys.setdefault(key, title)
    single = code_key(["graph", "float32"], host)
    result = "the key of float64" if single in found_keys else "its own key"
    yield equal("key of machine code in float32", "its own key", result)


def trouble() -> Iterator[Finding]:
    """Check folders that cannot be made, read or trusted, and the limit of the size."""
    reference = uncached().bits
    with empty_cache() as place:
        blocker = place.parent / "file"
        blocker.write_bytes(b"not a folder")
        with surroundings({"KINETREE_CACHE_DIR": str(blocker / "cache")}):
            yield equal("a folder that cannot be made: bits", reference, answer().bits)
        answer()
        yield from _read_only(place, reference)
        yield from _open_to_all(place, reference)
    with empty_cache() as place:
        answer()
        size = sum(path.stat().st_size for path in stored(place))
        with surroundings({"KINETREE_CACHE_SIZE": str(size)}):
            answer(robots.rp())
            answer(robots.planar_2r())
        left = sum(path.stat().st_size for path in stored(place))
        yield compared("KINETREE_CACHE_SIZE", left <= size, f"at most {size} bytes", left)


def _read_only(place: Path, reference: str) -> Iterator[Finding]:
    title = "a folder that cannot be written"
    mode = stat.S_IMODE(place.stat().st_mode)
    os.chmod(place, 0o500)
    try:
        count = len(stored(place))
        if os.name != "posix" or os.access(place, os.W_OK):
            yield skipped(title, "this user may write into every folder")
        else:
            yield equal(f"{title}: bits", reference, answer().bits)
            answer(robots.rp())
            yield equal(f"{title}: entries", count, len(stored(place)))
    finally:
        os.chmod(place, mode)


def _open_to_all(place: Path, reference: str) -> Iterator[Finding]:
    title = "a folder that other users may write"
    if os.name != "posix":
        yield skipped(title, "access lists of Windows protect the folder")
        return
    os.chmod(place, 0o777)
    if not place.stat().st_mode & stat.S_IWOTH:
        yield skipped(title, "this file system has no permissions")
        return
    with messages() as texts:
        found = answer()
    yield equal(f"{title}: bits", reference, found.bits)
    yield compared(f"{title}: is not read", found.compiled or not has_llvm(), "compiled", found.how)
    yield compared(
        f"{title}: a warning", any("other users" in x for x in texts), "a warning", texts
    )


def own_cache(values: Mapping[str, str | None]) -> Iterator[Finding]:
    """Check the user's own cache: every entry is whole, and kernels from it have the same bits."""
    with surroundings(values):
        if not folder.enabled():
            yield skipped("your own cache", "KINETREE_CACHE=0 switches it off")
            return
        advice = "Run: kinetree cache clear. Damaged entries are compiled again, never used."
        try:
            place = folder.folder()
            found = stored(place)
        except OSError as problem:
            yield skipped("your own cache", str(problem))
            return
        broken = 0
        for path in found:
            try:
                broken += not whole(path)
            except OSError:  # removed by another process meanwhile
                continue
        yield equal("damaged entries of your own cache", 0, broken, advice)
        for make in (robots.planar_2r, robots.panda):
            for quantity in ("inverse_dynamics", "forward_dynamics", "mass_matrix"):
                own = answer(make(), quantity)
                with surroundings({"KINETREE_CACHE": "0"}):
                    fresh = answer(make(), quantity)
                title = f"your own cache: {make.__name__}, {quantity}"
                yield equal(title, fresh.bits, own.bits, advice)


PARTS: dict[str, Callable[[], Iterator[Finding]]] = {
    "reuse": reuse,
    "damage": damage,
    "exchange": exchange,
    "keys": keys,
    "trouble": trouble,
}
