"""run_study: from a study and its options to its results, wherever they are computed."""

import os
import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from hashlib import sha256
from operator import index
from pathlib import Path
from typing import Any, TypedDict

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.progress import Progress
from kinetree.core.versions import __version__
from kinetree.engine.call.threads import threads
from kinetree.errors import InputError, KinetreeWarning
from kinetree.parallel.engines import DaskClient, Engine, EngineName, make_engine
from kinetree.parallel.locks import locked
from kinetree.parallel.results import Results, read
from kinetree.parallel.schedule import StudyError, results
from kinetree.parallel.sinks import (
    MemorySink,
    Row,
    Sink,
    check_place,
    check_same,
    make_sink,
    partial_of,
    row_dtype,
)
from kinetree.parallel.work import (
    Study,
    pack,
    plain,
    prepare,
    robot_hash,
    settings_text,
)
from kinetree.robot import Robot

CHUNK = 8 << 20  # bytes that a chunk needs at most while it is computed, unless chunk= is given
LONGEST_CHUNK_S = 0.5  # between two of them the progress bar moves, and Ctrl-C is handled
LANES = 8  # samples that a core computes at a time, if their kernel allows it
SAMPLES = "{task.completed}/{task.total}"  # in a progress bar
MAX_CHECKED, ONE_CHECKED_IN = (
    3,
    32,
)  # samples computed again, and always the last one
HERE = (None, "threads", "processes")  # executors whose workers run on this processor
LONGEST_SETTINGS = 20_000  # characters of settings that are still written out in the metadata


class Options(TypedDict, total=False):
    """Options of every study; only the seed changes the results.

    seed: of the random numbers, 0 by default.
    output: a file to write, .parquet, .npy or .csv; None keeps the results in memory. One study at
        a time may write it; without `resume`, what an earlier study left there is replaced.
    executor: "threads" (default), "processes", "ray", "dask", any concurrent.futures.Executor, or
        a Dask client.
    workers: their number; all cores by default.
    chunk: number of samples that are computed together.
    resume: continue a study that was interrupted; the results of a complete one are read.
    progress: show a bar on the error stream; None shows one on a terminal if the study takes long.
    """

    seed: int
    output: str | os.PathLike[str] | None
    executor: EngineName | Executor | DaskClient | None
    workers: int | None
    chunk: int | None
    resume: bool
    progress: bool | None


@dataclass(frozen=True, eq=False)
class _Job:
    """One run of a study: the number of its samples, and the metadata of its results."""

    study: Study
    samples: int
    meta: dict[str, str]

    @property
    def dtype(self) -> Row:
        return row_dtype(self.study.columns)


def run_study(
    name: str,
    make: Callable[..., Study],
    robot: Robot,
    n: int,
    settings: Mapping[str, Any],
    options: Options,
) -> Results:
    """All samples of a study, n for every point of its grids.

    Workers call make(model, seed, n, **settings); the settings are plain data and records of
    kinetree. The options say how it is computed.
    """
    if not isinstance(robot, Robot):
        raise InputError(f"robot is {robot!r}; expected a kinetree.Robot.")
    unknown = set(options) - set(Options.__annotations__)
    if unknown:
        known = ", ".join(Options.__annotations__)
        raise InputError(f"{name} has no option {', '.join(sorted(unknown))}; it has {known}.")
    seed, repeats = whole(options.get("seed", 0), "seed", 0), whole(n, "n", 1)
    path = check_place(options.get("output"))
    settings = {key: plain(value, key) for key, value in settings.items()}
    packed = pack(make, robot.model, settings, seed, repeats)
    study = prepare(packed)
    arguments = getattr(study, "arguments", None)
    samples = repeats * (1 if arguments is None else arguments.points)
    counts = {"seed": seed, "samples": samples, "rows": study.rows}
    meta = _meta(name, robot, settings) | {key: str(x) for key, x in counts.items()}
    job = _Job(study, samples, meta)
    resume = bool(options.get("resume"))
    if resume and (former := _complete(path, job.meta)):
        return former
    with locked(path):  # by now another study may have completed it
        if resume and (former := _complete(path, job.meta)):
            return former
        engine = make_engine(options.get("executor"), options.get("workers"), packed)
        try:
            chunk = _chunk(options.get("chunk"), study, samples, engine.workers)
            sink = make_sink(path, job.dtype, samples * study.rows, job.meta, resume)
            what = f"{name} of {robot.name}"
            here = options.get("executor") in HERE
            with Progress(what, samples, options.get("progress"), SAMPLES) as bar:
                checked = _stream(job, engine, sink, chunk, bar, here)
        finally:
            engine.close()
        if isinstance(sink, MemorySink):
            names = job.dtype.names or ()
            return Results(names, samples, study.rows, job.meta, None, sink.table, checked)
        assert path is not None
        return replace(read(path), checked=checked)


def _meta(name: str, robot: Robot, settings: Mapping[str, Any]) -> dict[str, str]:
    """Metadata of what is computed; they leave out where, when and how fast."""
    text = settings_text(settings)
    return {
        "kinetree": __version__,
        "study": name,
        "robot": robot.name,
        "robot_sha256": robot_hash(robot.model),
        "settings": text if len(text) <= LONGEST_SETTINGS else f"{len(text)} characters",
        "settings_sha256": sha256(text.encode()).hexdigest(),
    }


def _complete(path: Path | None, meta: Mapping[str, str]) -> Results | None:
    """The results of the same study if they are complete; InputError if they are of another one."""
    if path is None or not path.exists():
        return None
    former = read(path)
    if dict(former.meta) == meta:
        return former
    if not partial_of(path).exists():  # nothing to go on with, and results that would be lost
        check_same(path, former.meta, meta)
    return None


def _stream(job: _Job, engine: Engine, sink: Sink, chunk: int, bar: Progress, here: bool) -> int:
    """Write rows into the sink in order; what was written stays there after an interruption.

    `here` is True if the workers run on this processor. Returns the number of samples that were
    computed again.
    """
    study, names = job.study, job.study.columns
    first, skip = divmod(sink.done, study.rows)
    at, complete = first, False
    try:
        for count, data in results(engine, first, job.samples, chunk):
            numbers = np.frombuffer(data, "<f8").reshape(count * study.rows, len(names))
            rows = np.empty(len(numbers), job.dtype)
            rows["sample"] = np.repeat(np.arange(at, at + count), study.rows)
            for k, name in enumerate(names):
                rows[name] = numbers[:, k]
            sink.write(rows[skip:])
            at, skip = at + count, 0
            bar.update(at)
        checked = check_samples(study, sink, job.samples, here)
        complete = True
    finally:
        sink.finish(complete)
    return checked


def check_samples(study: Study, sink: Sink, samples: int, here: bool = True) -> int:
    """Compute some samples again, one by one and here, and compare them with what was written.

    Returns their number.

    Raises:
        StudyError: a number differs in any bit, or there are too few rows. If the workers are not
            `here`, on this processor, bits that differ only cause a warning.
    """
    rng = np.random.default_rng()  # other samples every time
    chosen = rng.choice(samples, min(MAX_CHECKED, -(-samples // ONE_CHECKED_IN)), replace=False)
    for k in sorted({*chosen.tolist(), samples - 1}):
        rows = sink.written(k * study.rows, study.rows)
        with threads(1):
            again = np.ascontiguousarray(study.compute(np.arange(k, k + 1)), "<f8")
        numbers = [np.ascontiguousarray(rows[name], "<f8") for name in study.columns]
        again = again.reshape(study.rows, len(study.columns)).T
        same = len(rows) == study.rows and (rows["sample"] == k).all()
        if not same:
            raise StudyError(
                f"sample {k} of {samples} has {len(rows)} rows in the output, of samples "
                f"{sorted(set(rows['sample'].tolist()))}; expected {study.rows} of its own. Check "
                "whether anything else writes that file, and run the study with resume=False."
            )
        for name, written, expected in zip(study.columns, numbers, again, strict=True):
            differ = np.flatnonzero(~_alike(written, expected))
            if len(differ):
                message = (
                    f"sample {k}, column {name!r}: the study has {written[differ[0]]!r}, computed "
                    f"again it is {expected[differ[0]]!r}; expected the same bits. A worker may "
                    "have another kinetree, another processor or broken memory: run the study "
                    "again with resume=False, and with executor='threads'."
                )
                if here:
                    raise StudyError(message)
                warnings.warn(message, KinetreeWarning, stacklevel=5)
                break
    return len({*chosen.tolist(), samples - 1})


def _alike(a: Array, b: Array) -> Array:
    """True where two numbers have the same bits, or are both NaN."""
    return (a.view("<u8") == np.ascontiguousarray(b).view("<u8")) | (np.isnan(a) & np.isnan(b))


def _chunk(chosen: int | None, study: Study, samples: int, workers: int) -> int:
    """Samples in a chunk: limited by memory and time, and small enough for all workers."""
    if chosen is not None:
        return whole(chosen, "chunk", 1)
    fair = -(-samples // (4 * workers))
    quick = max(LANES, int(LONGEST_CHUNK_S / study.seconds))
    return max(1, min(CHUNK // study.size, quick, fair))


def whole(value: object, name: str, least: int) -> int:
    """`value` as an integer; InputError unless it is whole, `least` or more, and below 2**63."""
    try:
        number = -1 if isinstance(value, bool) else index(value)  # type: ignore[arg-type]
    except TypeError:
        number = -1
    if not least <= number < 2**63:
        raise InputError(
            f"{name} is {value!r}; expected a whole number, {least} or more and below 2**63."
        )
    return number


def named(values: Mapping[str, Any] | None, name: str) -> dict[str, Any]:
    """Values by name as a dict; InputError if they are not a mapping."""
    if values is None:
        return {}
    if not isinstance(values, Mapping):
        raise InputError(
            f"{name} are {values!r}; expected values by name, such as {{'mass': 1.0}}."
        )
    return dict(values)
