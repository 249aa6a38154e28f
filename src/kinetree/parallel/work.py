"""What a worker does: some samples of a study, from the study's text."""

import functools
import json
import threading
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Protocol

import numpy as np

from kinetree.backends.threads import threads
from kinetree.base.arrays import Array
from kinetree.errors import InputError
from kinetree.model import Model
from kinetree.parallel.bootstrap_study import BootstrapStudy
from kinetree.parallel.envelope_study import EnvelopeStudy
from kinetree.parallel.model_text import model_text, read_model_text
from kinetree.parallel.plain import read_settings, settings_text
from kinetree.parallel.reader import Reader
from kinetree.parallel.rollout_study import RolloutStudy
from kinetree.parallel.sweep_study import SweepStudy

STUDIES = {
    "rollouts": RolloutStudy,
    "sweep": SweepStudy,
    "envelope": EnvelopeStudy,
    "bootstrap": BootstrapStudy,
}
MOST = 2**63 - 1
_lock = threading.RLock()


class Study(Protocol):
    """A study, ready to compute.

    size, seconds: what a sample takes while it is computed, in bytes and, roughly, in time.
    """

    columns: tuple[str, ...]
    rows: int
    size: int
    seconds: float

    def warm(self) -> None:
        """Compile, and complain about what cannot be computed."""
        ...

    def compute(self, samples: Array) -> Array:
        """Rows of the samples, (S, rows, columns)."""
        ...


def study_text(
    kind: str, model: Model, settings: Mapping[str, Any], seed: int, repeats: int
) -> str:
    """Everything that a worker needs to know, as text; `repeats` samples a point of the grids."""
    data = {"kinetree": own_version(), "study": kind, "seed": seed, "repeats": repeats}
    data |= {"model": model_text(model), "settings": settings_text(settings)}
    return json.dumps(data, ensure_ascii=False)


def own_version() -> str:
    """The version of kinetree that is installed here."""
    try:
        return version("kinetree")
    except PackageNotFoundError:  # run from its source
        return "unknown"


@functools.lru_cache(maxsize=4)
def _prepare(text: str) -> Study:
    x = Reader(json.loads(text), "study")
    if x.get("kinetree") != own_version():
        raise InputError(
            f"a worker has kinetree {own_version()}, the study comes from {x.get('kinetree')}; "
            "expected the same. Install it on every machine."
        )
    make = STUDIES[x.one_of("study", tuple(STUDIES))]
    seed, repeats = x.whole("seed", 0, 2**64 - 1), x.whole("repeats", 1, MOST)
    model, settings = read_model_text(x.text("model")), read_settings(x.text("settings"))
    study = make(model, seed, repeats, settings)
    study.warm()
    return study


def prepare(text: str) -> Study:
    """The study of a text, compiled once in a process."""
    with _lock:
        return _prepare(text)


def run_chunk(text: str, first: int, count: int) -> bytes:
    """Rows of the samples first, first + 1, ...: float64, (count, rows, columns), as bytes."""
    study = prepare(text)
    with threads(1):  # cores are shared out among workers, not within a chunk
        found = study.compute(np.arange(first, first + count))
    return np.ascontiguousarray(found, "<f8").tobytes()
