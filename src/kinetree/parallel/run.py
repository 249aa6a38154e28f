"""run_study: from a description of a study to its results, wherever they are computed."""

import warnings
from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from operator import index
from pathlib import Path
from typing import Any, TypedDict

import numpy as np

from kinetree.backends.threads import threads
from kinetree.base.arrays import Array
from kinetree.errors import InputError, KinetreeWarning
from kinetree.parallel.engines import make_engine
from kinetree.parallel.locks import locked
from kinetree.parallel.model_text import model_text
from kinetree.parallel.plain import settings_text
from kinetree.parallel.results import Results, read
from kinetree.parallel.schedule import StudyError, results
from kinetree.parallel.sinks import (
    MemorySink,
    Sink,
    check_place,
    check_same,
    make_sink,
    partial_of,
    row_dtype,
)
from kinetree.parallel.work import Study, own_version, prepare, study_text
from kinetree.robot import Robot
from kinetree.simulate.progress import Progress

CHUNK = 8 << 20  # bytes that a chunk takes while it is computed, unless chunk= says otherwise
PATIENCE = 0.5  # s that a chunk is expected to take at most: then bars move and Ctrl-C is heard
LANES = 8  # samples that a core computes at a time, where their kernel allows
SAMPLES = "{task.completed}/{task.total}"  # in a bar
MOST_CHECKED, SHARE = 3, 32  # samples computed once more: one in 32, three at most, and the last
HERE = (None, "threads", "processes")  # executors whose workers have this processor
LONG = 20_000  # characters of settings that are still written out in the metadata


class Options(TypedDict, total=False):
    """How a study is run; none of it but the seed changes a bit of the results.

    seed: of the random numbers, 0 by default.
    output: a file to write, .parquet, .npy or .csv; None keeps the results in memory. One study at
        a time may write it; without `resume` what an earlier one left there is replaced.
    executor: "threads" (default), "processes", "ray", "dask", any concurrent.futures.Executor, or
        a Dask client.
    workers: how many; all cores by default.
    chunk: samples that are computed together.
    resume: go on with a study that was interrupted; one that is complete is read.
    progress: a bar on the error stream; None shows one on a terminal where the study takes long.
    """

    seed: int
    output: Any
    executor: Any
    workers: int | None
    chunk: int | None
    resume: bool
    progress: bool | None


def run_study(
    kind: str, robot: Robot, n: int, settings: Mapping[str, Any], options: Options
) -> Results:
    """All samples of a study, n for every point of its grids."""
    if not isinstance(robot, Robot):
        raise InputError(f"robot is {robot!r}; expected a kinetree.Robot.")
    unknown = set(options) - set(Options.__annotations__)
    if unknown:
        known = ", ".join(Options.__annotations__)
        raise InputError(f"{kind} has no option {', '.join(sorted(unknown))}; it has {known}.")
    seed, repeats = whole(options.get("seed", 0), "seed", 0), whole(n, "n", 1)
    path = check_place(options.get("output"))
    text = study_text(kind, robot.model, settings, seed, repeats)
    study = prepare(text)
    arguments = getattr(study, "arguments", None)
    samples = repeats * (1 if arguments is None else arguments.points)
    dtype = row_dtype(study.columns)
    meta = _meta(kind, robot, settings, seed, samples, study)
    resume = bool(options.get("resume"))
    if resume and (former := _complete(path, meta)):
        return former
    with locked(path):  # by now another study may have completed it
        if resume and (former := _complete(path, meta)):
            return former
        engine = make_engine(options.get("executor"), options.get("workers"), text)
        try:
            chunk = _chunk(options.get("chunk"), study, samples, engine.workers)
            sink = make_sink(path, dtype, samples * study.rows, meta, resume)
            what = f"{kind} of {robot.name}"
            here = options.get("executor") in HERE
            with Progress(what, samples, options.get("progress"), SAMPLES) as bar:
                checked = _stream(engine, study, sink, samples, chunk, bar, here)
        finally:
            engine.close()
        if isinstance(sink, MemorySink):
            return Results(dtype.names or (), samples, study.rows, meta, None, sink.table, checked)
        assert path is not None
        return replace(read(path), checked=checked)


def _complete(path: Path | None, meta: Mapping[str, str]) -> Results | None:
    """The results of the same study where they are there; an error where others' are."""
    if path is None or not path.exists():
        return None
    former = read(path)
    if dict(former.meta) == meta:
        return former
    if not partial_of(path).exists():  # nothing to go on with, and others' results to lose
        check_same(path, former.meta, meta)
    return None


def _stream(
    engine: Any, study: Study, sink: Sink, samples: int, chunk: int, bar: Progress, here: bool
) -> int:
    """Rows into the sink, in order; what was written stays when it is interrupted.

    How many samples were computed once more; `here` is where the workers are.
    """
    dtype = row_dtype(study.columns)
    first, skip = divmod(sink.done, study.rows)
    at, complete = first, False
    try:
        for count, data in results(engine, first, samples, chunk):
            numbers = np.frombuffer(data, "<f8").reshape(count * study.rows, len(study.columns))
            rows = np.empty(len(numbers), dtype)
            rows["sample"] = np.repeat(np.arange(at, at + count), study.rows)
            for k, name in enumerate(study.columns):
                rows[name] = numbers[:, k]
            sink.write(rows[skip:])
            at, skip = at + count, 0
            bar.update(at)
        checked = check_samples(study, sink, samples, here)
        complete = True
    finally:
        sink.finish(complete)
    return checked


def check_samples(study: Study, sink: Sink, samples: int, here: bool = True) -> int:
    """Compute some samples once more, one by one and here, and compare them with what was written.

    Raises:
        StudyError: a number differs in any bit, or there are not as many rows as there should be.
            Where workers are not `here`, on this machine, bits that differ are only warned of:
            their processors may be others.
    """
    rng = np.random.default_rng()  # other samples every time
    chosen = rng.choice(samples, min(MOST_CHECKED, -(-samples // SHARE)), replace=False)
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
                f"{sorted(set(rows['sample'].tolist()))}; expected {study.rows} of its own. Look "
                "whether anything else writes that file, and run the study with resume=False."
            )
        for name, found, expected in zip(study.columns, numbers, again, strict=True):
            differ = np.flatnonzero(~_alike(found, expected))
            if len(differ):
                said = (
                    f"sample {k}, column {name!r}: the study has {found[differ[0]]!r}, computed "
                    f"once more it is {expected[differ[0]]!r}; expected the same bits. A worker "
                    "may have another kinetree, another processor or broken memory: run the study "
                    "again with resume=False, and with executor='threads'."
                )
                if here:
                    raise StudyError(said)
                warnings.warn(said, KinetreeWarning, stacklevel=5)
                break
    return len({*chosen.tolist(), samples - 1})


def _alike(a: Array, b: Array) -> Array:
    """Which numbers are the same bits; a NaN is as good as another."""
    return (a.view("<u8") == np.ascontiguousarray(b).view("<u8")) | (np.isnan(a) & np.isnan(b))


def _meta(
    kind: str, robot: Robot, settings: Mapping[str, Any], seed: int, samples: int, study: Study
) -> dict[str, str]:
    """What the results are, without where, when and how fast they were computed."""
    said = settings_text(settings)
    return {
        "kinetree": own_version(),
        "study": kind,
        "robot": robot.name,
        "robot_sha256": _hash(model_text(robot.model)),
        "settings": said if len(said) <= LONG else f"{len(said)} characters",
        "settings_sha256": _hash(said),
        "seed": str(seed),
        "samples": str(samples),
        "rows": str(study.rows),
    }


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _chunk(chosen: int | None, study: Study, samples: int, workers: int) -> int:
    """Samples in a chunk: as many as memory and patience allow, and enough for all workers."""
    if chosen is not None:
        return whole(chosen, "chunk", 1)
    fair = -(-samples // (4 * workers))
    quick = max(LANES, int(PATIENCE / study.seconds))
    return max(1, min(CHUNK // study.size, quick, fair))


def whole(value: Any, name: str, least: int) -> int:
    """A whole number of at least so many."""
    try:
        found = -1 if isinstance(value, bool) else index(value)
    except TypeError:
        found = -1
    if not least <= found < 2**63:
        raise InputError(
            f"{name} is {value!r}; expected a whole number, {least} or more and below 2**63."
        )
    return found
