"""Chunks of a study: computed in any order, a few at a time, and returned in order."""

from collections import deque
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass

from kinetree.errors import KinetreeError
from kinetree.parallel.engines import Engine

RETRIES = 3
CHUNKS_PER_WORKER = 2  # chunks for each worker that are computed or wait to be written


class StudyError(KinetreeError, RuntimeError):
    """A study could not be finished; it can be resumed from what was written before."""


@dataclass
class Chunk:
    """Samples first, first + 1, ..., first + count - 1."""

    number: int
    first: int
    count: int
    future: "Future[bytes] | None" = None
    losses: int = 0

    def __str__(self) -> str:
        return f"chunk {self.number} (samples {self.first} to {self.first + self.count - 1})"


def results(engine: Engine, first: int, total: int, size: int) -> Iterator[tuple[int, bytes]]:
    """The samples from `first` on in order: the number in each chunk, and their bytes.

    At most CHUNKS_PER_WORKER are under way for each worker. A chunk whose worker died is computed
    again, RETRIES times at most; its result does not depend on where or when it is computed.
    """
    waiting: deque[Chunk] = deque()
    number, at = 0, first
    try:
        while waiting or at < total:
            while at < total and len(waiting) < CHUNKS_PER_WORKER * engine.workers:
                chunk = Chunk(number, at, min(size, total - at))
                waiting.append(chunk)
                _begin(engine, chunk)
                number, at = number + 1, at + chunk.count
            yield waiting[0].count, _result(engine, waiting)
            waiting.popleft()
    finally:
        for chunk in waiting:
            if chunk.future is not None:
                chunk.future.cancel()


def _begin(engine: Engine, chunk: Chunk) -> None:
    """Submit a chunk; if a worker was lost, `_result` submits it again when its turn comes."""
    try:
        chunk.future = engine.submit(chunk.first, chunk.count)
    except Exception as error:
        if not _is_lost(engine, error):
            raise


def _result(engine: Engine, waiting: deque[Chunk]) -> bytes:
    """The bytes of the first chunk, after several attempts if workers are lost."""
    chunk = waiting[0]
    while True:
        try:
            if chunk.future is None:
                chunk.future = engine.submit(chunk.first, chunk.count)
            return chunk.future.result()
        except Exception as error:
            if not _is_lost(engine, error):
                error.add_note(f"in {chunk} of the study")
                raise
            _mend(engine, chunk, error)
            for other in waiting:
                if other.future is not None and _was_lost(engine, other.future):
                    other.future = None  # submitted again alone, so that the guilty chunk is found


def _mend(engine: Engine, chunk: Chunk, error: Exception) -> None:
    """Prepare another attempt at a chunk that was lost; StudyError if there is none left."""
    chunk.losses += 1
    reason = (str(error).strip() or "no reason given").splitlines()[0].rstrip(".")
    cause = f"{type(error).__name__}: {reason}"
    if chunk.losses > RETRIES:
        raise StudyError(
            f"{chunk} lost its worker {chunk.losses} times; the last time {cause}. Check "
            "whether its samples need more memory than a worker has; chunk= makes chunks smaller."
        ) from error
    if not engine.renew():
        raise StudyError(
            f"{chunk} lost its worker ({cause}), and the given pool cannot be mended; "
            "with executor='processes' kinetree starts pools of its own and replaces broken ones."
        ) from error
    chunk.future = None


def _was_lost(engine: Engine, future: "Future[bytes]") -> bool:
    if future.cancelled():
        return True
    error = future.exception() if future.done() else None
    return error is not None and _is_lost(engine, error)


def _is_lost(engine: Engine, error: BaseException) -> bool:
    return isinstance(error, CancelledError) or engine.lost(error)
