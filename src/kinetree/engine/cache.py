"""The cache on disk: one entry for each kernel, so that it is made once per machine.

An entry is a file named by a hash of its key: the identity of this package, and whatever the kernel
is made of. Its parts are the traced graph and the machine code for each processor and number type.
A hash over name and content is verified before a byte is used: a damaged file is made again, never
loaded, and nothing in it is unpickled. Files appear whole or not at all (written aside, then
renamed) and belong to their owner alone. Any trouble with the disk means working without a cache,
never a failure.

Environment: KINETREE_CACHE_DIR chooses the folder, KINETREE_CACHE=0 switches the cache off,
KINETREE_CACHE_SIZE bounds it ("512M", "2G" or a number of bytes).
"""

import functools
import hashlib
import json
import logging
import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from kinetree.core import system
from kinetree.core.environment import setting
from kinetree.core.versions import __version__

log = logging.getLogger(__name__)

MAGIC = b"kinetree kernel 1\n"
DIGEST = hashlib.sha256().digest_size
SUFFIX = ".kto"  # of entries
ASIDE = "aside-"  # prefix of files that are still being written
ABANDONED = 3600  # s after which such a file was left by a process that was killed
DEFAULT_LIMIT = 512 << 20
SHARE = 1 / 16  # of the limit, which is free after old entries were removed
# folders of the package from which no kernel follows; any other change of a source makes new keys
WITHOUT_KERNELS = ("cli", "explain", "identify", "robots", "testing", "views")

Parts = dict[str, bytes]


@dataclass(frozen=True)
class CacheInfo:
    """The folder of the cache, whether it is used, and the number and size of its entries."""

    folder: Path
    enabled: bool
    entries: int
    size: int
    limit: int


def enabled() -> bool:
    """Return True if the cache may be used."""
    return setting("KINETREE_CACHE") is not False


def folder() -> Path:
    """Return the folder of the cache: the user's choice, else the system's place for caches."""
    chosen = setting("KINETREE_CACHE_DIR")
    try:
        return Path(chosen).expanduser() if chosen else system.user_caches() / "kinetree"
    except RuntimeError as homeless:
        raise FileNotFoundError(
            f"no folder for the cache: {homeless} Set KINETREE_CACHE_DIR to a folder."
        ) from homeless


def limit() -> int:
    """Return the largest size of all entries together, in bytes."""
    chosen = setting("KINETREE_CACHE_SIZE")
    return DEFAULT_LIMIT if chosen is None else chosen


@functools.cache
def identity() -> str:
    """What this package is: its version, and a hash over its files.

    An installed package has a list of its files with their hashes beside it, RECORD of pip. Without
    one, as in an editable installation, the sources are read. A program that was packed without its
    sources is identified by the version.
    """
    package = Path(sys.modules["kinetree"].__path__[0])
    try:
        content = (package.parent / f"kinetree-{__version__}.dist-info" / "RECORD").read_bytes()
    except OSError:
        content = b"".join(_sources(package))
    return f"kinetree {__version__} {hashlib.sha256(content).hexdigest()}"


def _sources(package: Path) -> list[bytes]:
    """Hashes of the sources of a package, without the folders from which no kernel follows."""
    found: list[tuple[str, bytes]] = []
    for place, folders, names in os.walk(package):
        if place == str(package):
            folders[:] = [x for x in folders if x not in WITHOUT_KERNELS]
        for name in names:
            if name.endswith(".py"):
                path = os.path.join(place, name)
                with open(path, "rb", buffering=0) as file:
                    text = os.path.relpath(path, package).encode() + b"\n" + file.read()
                found.append((path, hashlib.sha256(text).digest()))
    return [digest for _, digest in sorted(found)]


def entry(*key: str) -> str:
    """Return the name of the entry with a key: texts that state all that its parts depend on."""
    digest = hashlib.sha256(MAGIC)
    for text in (identity(), *key):
        data = text.encode()
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


def load(name: str, part: str) -> bytes | None:
    """Return a part of an entry, or None."""
    return _read(name).get(part) if enabled() else None


def store(name: str, part: str, data: bytes) -> None:
    """Add a part to an entry; remove the entries used longest ago if the cache is too large."""
    if not enabled():
        return
    place = None
    try:
        place = folder()
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        system.refuse_if_shared(place, place.stat())
        _write(place, name + SUFFIX, seal(name, {**_read(name), part: data}))
        shrink(place)
    except OSError as problem:
        log.info("kinetree continues without its cache %s: %s", place, problem)


def seal(name: str, parts: Parts) -> bytes:
    """Return the content of a file: magic, hash over name and the rest, sizes, parts."""
    sizes = json.dumps({part: len(data) for part, data in parts.items()}).encode()
    body = b"".join([sizes, b"\n", *parts.values()])
    return MAGIC + hashlib.sha256(name.encode() + body).digest() + body


def unseal(name: str, content: bytes) -> Parts | None:
    """Return the parts in the content of a file, None if the file is damaged."""
    start = len(MAGIC) + DIGEST
    body = content[start:]
    digest = hashlib.sha256(name.encode() + body).digest()
    if len(content) < start or content[:start] != MAGIC + digest:
        return None
    line, _, data = body.partition(b"\n")
    parts: Parts = {}
    for part, size in json.loads(line).items():
        parts[part], data = data[:size], data[size:]
    return parts


def clear() -> int:
    """Remove every entry and return the number of files removed."""
    return sum(remove(path) for path, _ in files(folder()))


def info() -> CacheInfo:
    """Return the state of the cache."""
    sizes = [status.st_size for path, status in files(folder()) if path.suffix == SUFFIX]
    return CacheInfo(folder(), enabled(), len(sizes), sum(sizes), limit())


def _read(name: str) -> Parts:
    """Return the parts of an entry; none of one that is missing, damaged or not ours alone."""
    path = Path(name + SUFFIX)
    try:
        path = folder() / path
        content = _read_own(path)
    except FileNotFoundError:
        return {}
    except OSError as problem:
        level = logging.WARNING if isinstance(problem, PermissionError) else logging.INFO
        log.log(level, "kinetree does not use %s: %s", path, problem)
        return {}
    parts = unseal(name, content)
    if parts is None:
        log.warning("kinetree compiles again: %s is damaged", path)
        return {}
    with suppress(OSError):
        os.utime(path)  # it was used now
    return parts


def _read_own(path: Path) -> bytes:
    """Return the content of a file; PermissionError if another user could have written it.

    Loaded code has the user's rights.
    """
    system.refuse_if_shared(path.parent, path.parent.stat())
    number = system.open_own(path)
    with os.fdopen(number, "rb") as file:
        system.refuse_if_shared(path, os.fstat(number))
        return file.read()


def _write(place: Path, name: str, content: bytes) -> None:
    """Write to a temporary file, then rename it: readers see the whole file or no file."""
    import tempfile  # here, since most programs only read

    number, aside = tempfile.mkstemp(prefix=ASIDE, dir=place)  # readable by its owner alone
    try:
        with os.fdopen(number, "wb") as file:
            file.write(content)
        system.replace(aside, place / name)
    except BaseException:
        remove(Path(aside))
        raise


def shrink(place: Path) -> None:
    """Remove the entries used longest ago if all are too large, and files of killed processes.

    A SHARE of the limit is left free.
    """
    listed = files(place)
    entries = [(path, status) for path, status in listed if path.suffix == SUFFIX]
    # measured against the newest file, not the clock: file systems may have clocks of their own
    newest = max((status.st_mtime for _, status in listed), default=0)
    for path, status in listed:
        if path.suffix != SUFFIX and status.st_mtime < newest - ABANDONED:
            remove(path)
    size, most = sum(status.st_size for _, status in entries), limit()
    if size <= most:
        return
    for path, status in sorted(entries, key=lambda item: item[1].st_mtime):
        if size <= (1 - SHARE) * most:
            break
        remove(path)
        size -= status.st_size


def files(place: Path) -> list[tuple[Path, os.stat_result]]:
    """Return the files of the cache in a folder; those that vanish meanwhile are left out."""
    found: list[tuple[Path, os.stat_result]] = []
    for pattern in (f"*{SUFFIX}", f"{ASIDE}*"):
        for path in place.glob(pattern):
            with suppress(OSError):
                found.append((path, path.stat()))
    return found


def remove(path: Path) -> bool:
    """Remove a file that another process may remove too; False if it could not be removed."""
    try:
        path.unlink()
    except OSError:
        return False
    return True
