"""Entries of the cache, so that a kernel is compiled once per machine and not once per process.

An entry is a file named by its key. It begins with a hash over key and code which is verified
before a byte is used: a damaged file is compiled again, never loaded. Files appear whole or not at
all (written aside, then renamed), belong to their owner alone, and contain nothing that is
unpickled. Any trouble with the disk means working without a cache, never a failure.
"""

import functools
import hashlib
import logging
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from kinetree.core import system
from kinetree.engine.cache import folder as cache_folder

log = logging.getLogger(__name__)

MAGIC = b"kinetree object code 1\n"
DIGEST = hashlib.sha256().digest_size
SUFFIX, ASIDE = cache_folder.SUFFIX, cache_folder.ASIDE


@dataclass(frozen=True)
class CacheInfo:
    """The folder of the cache, whether it is used, and the number and size of its entries."""

    folder: Path
    enabled: bool
    entries: int
    size: int
    limit: int


def make_key(parts: Iterable[str]) -> str:
    """Return the name of an entry: a hash of everything that its content depends on."""
    digest = hashlib.sha256(MAGIC)
    for part in parts:
        data = part.encode()
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


@functools.cache
def source_hash(*places: str) -> str:
    """Return a hash over modules ("scalars.py") and folders with their subfolders ("compiler").

    A program that was packed without its sources is identified by the version instead.
    """
    # read from the loaded package: this stage must not import the top-level module
    package = sys.modules["kinetree"]
    digest = hashlib.sha256()
    try:
        for place in places:
            modules = list(_modules(os.path.join(package.__path__[0], *place.split("/"))))
            if not modules:
                raise FileNotFoundError(f"{place} has no modules")
            for path in modules:
                with open(path, "rb", buffering=0) as file:
                    source = file.read()
                for data in (os.path.basename(path).encode(), source):
                    digest.update(len(data).to_bytes(8, "little"))
                    digest.update(data)
    except (FileNotFoundError, NotADirectoryError):
        return f"kinetree {package.__version__} without its source"
    return digest.hexdigest()


def _modules(place: str) -> Iterator[str]:
    """Iterate over the path of the module itself, or over those of a folder in a fixed order."""
    if place.endswith(".py"):
        yield place
    else:
        with os.scandir(place) as listed:
            items = sorted((x.name, x.is_dir()) for x in listed)
        for name, is_folder in items:
            if name.endswith(".py") or (is_folder and name != "__pycache__"):
                yield from _modules(os.path.join(place, name))


def load(key: str) -> bytes | None:
    """Return the bytes stored under `key`, or None."""
    if not cache_folder.enabled():
        return None
    path = Path(key + SUFFIX)
    try:
        path = cache_folder.folder() / path
        data = cache_folder.read_own(path)
    except FileNotFoundError:
        return None
    except OSError as problem:
        level = logging.WARNING if isinstance(problem, PermissionError) else logging.INFO
        log.log(level, "kinetree does not use %s: %s", path, problem)
        return None
    code = unseal(key, data)
    if code is None:
        log.warning("kinetree compiles again: %s is damaged", path)
        return None
    _touch(path)
    return code


def store(key: str, code: bytes) -> None:
    """Store `code` under `key`; remove the entries used longest ago if the cache is too large."""
    if not cache_folder.enabled():
        return
    folder = None
    try:
        folder = cache_folder.folder()
        cache_folder.make(folder)
        data = seal(key, code)
        _write(folder, key + SUFFIX, data)
        cache_folder.shrink(folder, cache_folder.limit(), len(data))
    except OSError as problem:
        log.info("kinetree continues without its cache %s: %s", folder, problem)


def seal(key: str, code: bytes) -> bytes:
    """Return the content of a file: magic, hash over key and code, code."""
    return MAGIC + hashlib.sha256(key.encode() + code).digest() + code


def unseal(key: str, data: bytes) -> bytes | None:
    """Return the code in the content of a file, None if the file is damaged."""
    start = len(MAGIC) + DIGEST
    if len(data) < start or not data.startswith(MAGIC):
        return None
    code = data[start:]
    whole = hashlib.sha256(key.encode() + code).digest() == data[len(MAGIC) : start]
    return code if whole else None


def clear() -> int:
    """Remove every entry and return the number of files removed."""
    removed = 0
    for path, _ in cache_folder.files(cache_folder.folder()):
        removed += cache_folder.remove(path)
    return removed


def info() -> CacheInfo:
    """Return the state of the cache."""
    folder = cache_folder.folder()
    sizes = [status.st_size for path, status in cache_folder.files(folder) if path.suffix == SUFFIX]
    return CacheInfo(folder, cache_folder.enabled(), len(sizes), sum(sizes), cache_folder.limit())


def _write(folder: Path, name: str, data: bytes) -> None:
    """Write to a temporary file, then rename it: readers see the whole file or no file."""
    import tempfile  # here, since most programs only read

    number, aside = tempfile.mkstemp(prefix=ASIDE, dir=folder)  # readable by its owner alone
    try:
        with os.fdopen(number, "wb") as file:
            file.write(data)
        system.replace(aside, folder / name)
    except BaseException:
        cache_folder.remove(Path(aside))
        raise


def _touch(path: Path) -> None:
    """Mark the entry as used now."""
    try:
        os.utime(path)
    except OSError:
        log.debug("kinetree cannot date %s", path)
