"""A study as data: checked settings, packed for workers and described for the metadata.

A worker gets one pickle of our own records, made by the leader of the same study: the class of the
study, the model and the settings. `plain` lets only data and known records through, so that no code
of the user travels. Metadata are JSON: a results file may come from anywhere and is never
unpickled.
"""
# ruff: noqa: D102 (the class `Study` describes its methods)

import base64
import dataclasses
import functools
import json
import math
import pickle
import threading
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any, Protocol

import numpy as np

from kinetree import controllers
from kinetree.core.arrays import Array
from kinetree.core.versions import __version__
from kinetree.engine.call.threads import threads
from kinetree.engine.compiler.law import TracedLaw
from kinetree.engine.kernels.compile import check_model
from kinetree.engine.kernels.stored import model_hash
from kinetree.errors import InputError
from kinetree.model import Model
from kinetree.motion.curve.between import curved
from kinetree.motion.curve.pieces import from_arrays, to_arrays
from kinetree.motion.trajectory import Trajectory
from kinetree.parallel import sampling
from kinetree.robot import Robot

RECORDS = (
    sampling.Normal,
    sampling.Uniform,
    sampling.Choice,
    sampling.Grid,
    sampling.Anywhere,
    sampling.Spread,
    sampling.Noise,
    controllers.GravityCompensation,
    controllers.PD,
    controllers.PID,
    controllers.ComputedTorque,
    controllers.OperationalSpace,
    controllers.Impedance,
    controllers.Posture,
    controllers.Adaptive,
    controllers.Law,
    controllers.Stateful,
)
MOTION = ("t", "q", "dq", "ddq")
KINDS = ("<f8", "<i8", "|b1")
LIMITS = ("lower", "upper", "velocity", "effort")
_lock = threading.RLock()


class Study(Protocol):
    """A study that is ready to compute.

    size, seconds: memory in bytes and approximate time that one sample needs. warm: compile the
    kernels, and raise an error for what cannot be computed. compute: rows of samples, (S, rows,
    columns).
    """

    columns: tuple[str, ...]
    rows: int
    size: int
    seconds: float

    def warm(self) -> None: ...
    def compute(self, samples: Array) -> Array: ...


def pack(
    make: Callable[..., Study], model: Model, settings: Mapping[str, Any], seed: int, repeats: int
) -> bytes:
    """Everything a worker needs: the version of kinetree, then a pickle.

    `settings` come from `plain` and are the keyword arguments of `make`; every point of the grids
    has `repeats` samples. The version can be read without unpickling what another one wrote.
    """
    check_model(model)
    data = pickle.dumps((make, model, dict(settings), seed, repeats))
    return __version__.encode() + b"\n" + data


def run_chunk(packed: bytes, first: int, count: int) -> bytes:
    """Rows of the samples first, first + 1, ...: float64, (count, rows, columns), as bytes."""
    study = prepare(packed)
    with threads(1):  # cores are shared out among workers, not within a chunk
        rows = study.compute(np.arange(first, first + count))
    return np.ascontiguousarray(rows, "<f8").tobytes()


def prepare(packed: bytes) -> Study:
    """The study that was packed, compiled once in each process."""
    with _lock:
        return _prepare(packed)


@functools.lru_cache(maxsize=4)
def _prepare(packed: bytes) -> Study:
    sender, _, data = packed.partition(b"\n")
    if sender.decode() != __version__:
        raise InputError(
            f"a worker has kinetree {__version__}, the study comes from {sender.decode()}; "
            "expected the same. Install it on every machine."
        )
    make, model, settings, seed, repeats = pickle.loads(data)
    study = make(model, seed, repeats, **settings)
    study.warm()
    return study


def robot_hash(model: Model) -> str:
    """A hash over all data of a robot that a study depends on: dynamics, names and limits."""
    limits = [[float(getattr(joint.limits, key)) for key in LIMITS] for joint in model.joints]
    names = repr((model.name, model.base_name, model.link_names, limits))
    return sha256(f"{model_hash(model)} {names}".encode()).hexdigest()


def plain(value: object, where: str) -> Any:
    """A copy of `value` made of plain data, models and known records.

    Lists replace tuples, and arrays are float64, int64 or bool.

    Raises:
        InputError: there is code or an unknown object in it; the message names its place.
    """
    if value is None or isinstance(value, bool | str | int):
        return value
    if isinstance(value, float):
        return float(value)
    if isinstance(value, np.generic | np.ndarray):
        return _array(np.asarray(value), where)
    if isinstance(value, list | tuple | range):
        return [plain(x, f"{where}[{k}]") for k, x in enumerate(value)]
    if isinstance(value, Mapping):
        return {str(k): plain(x, f"{where}[{k!r}]") for k, x in value.items()}
    if isinstance(value, Robot | Model):
        model = value.model if isinstance(value, Robot) else value
        check_model(model)
        return model
    if isinstance(value, Trajectory):
        return _motion(value, where)
    if isinstance(value, TracedLaw):
        return value
    if isinstance(value, RECORDS) and type(value) in RECORDS:
        fields = {x.name: getattr(value, x.name) for x in dataclasses.fields(value) if x.init}
        parts = {name: plain(x, f"{where}.{name}") for name, x in fields.items()}
        return dataclasses.replace(value, **parts)
    text = repr(value)
    raise InputError(
        f"{where} is {text if len(text) <= 80 else f'{text[:77]}...'}, which is code or an object "
        "of its own; workers are given data alone. Use numbers, arrays, "
        "kinetree.simulate.law(f, robot), a Trajectory (sample a function of time into one), "
        "kinetree.controllers or kinetree.parallel's Normal, Uniform and others."
    )


def settings_text(settings: Mapping[str, Any]) -> str:
    """Settings from `plain` as JSON for the metadata; arrays keep their bits."""
    data = {name: _described(value) for name, value in settings.items()}
    return json.dumps(data, allow_nan=False, separators=(",", ":"))


def _described(value: Any) -> Any:
    match value:
        case float() if not math.isfinite(value):
            return {"number": repr(value)}
        case np.ndarray():
            data = base64.b64encode(value.tobytes()).decode()
            return {"array": value.dtype.str, "shape": list(value.shape), "data": data}
        case list():
            return [_described(x) for x in value]
        case dict():
            return {"entries": {name: _described(x) for name, x in value.items()}}
        case Model():
            return {"model": robot_hash(value)}
        case TracedLaw():
            return {"law": value.digest}
        case Trajectory():
            parts = {key: getattr(value, key) for key in MOTION}
            parts |= {} if value.model is None else {"model": value.model}
            parts |= {} if value.pieces is None else {"pieces": to_arrays(value.pieces)}
            return {"trajectory": {key: _described(x) for key, x in parts.items()}}
        case None | bool() | int() | float() | str():
            return value
        case _:
            values = {x.name: getattr(value, x.name) for x in dataclasses.fields(value) if x.init}
            fields = {name: _described(x) for name, x in values.items()}
            return {"record": type(value).__name__, "fields": fields}


def _motion(value: Trajectory, where: str) -> Trajectory:
    """A single motion without its forces and notes, which a controller does not need.

    Its model is kept only if q is not a vector, as with quaternions.
    """
    if value.batch_shape:
        raise InputError(
            f"{where} is a batch of motions of shape {value.batch_shape}; expected a single one, "
            "since rollouts are cut into chunks. Take trajectory.rollout(k)."
        )
    parts = {key: plain(getattr(value, key), f"{where}.{key}") for key in MOTION}
    model = value.model
    if model is not None and curved(model):
        parts["model"] = plain(model, f"{where}.model")
    pieces = from_arrays(to_arrays(value.pieces), parts.get("model"))
    return Trajectory(**parts, pieces=pieces)


def _array(x: Array, where: str) -> Array:
    for kind in KINDS:
        if x.dtype.kind == np.dtype(kind).kind or (x.dtype.kind == "u" and kind == "<i8"):
            return np.ascontiguousarray(x, kind).reshape(x.shape)
    raise InputError(f"{where} is an array of {x.dtype}; expected numbers.")
