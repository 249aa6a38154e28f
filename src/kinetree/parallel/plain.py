"""Settings as text: numbers, words, arrays and known records; no code, and nothing unpickled.

Arrays keep their bits. A record (a controller, a trajectory, what is drawn) is written as its name
and its fields, and only the classes of `records` are ever made when a text is read.
"""

import base64
import dataclasses
import functools
import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from kinetree import controllers
from kinetree.errors import InputError, ParseError
from kinetree.model import Model
from kinetree.motion.pieces import from_arrays, to_arrays
from kinetree.parallel import draws
from kinetree.parallel.model_text import model_text, read_model_text
from kinetree.robot import Robot
from kinetree.simulate.core.state import plain
from kinetree.trajectory import Trajectory

DRAWS = (
    draws.Normal,
    draws.Uniform,
    draws.Choice,
    draws.Grid,
    draws.Anywhere,
    draws.Spread,
    draws.Noise,
)
CONTROLLERS = (
    controllers.GravityCompensation,
    controllers.PD,
    controllers.PID,
    controllers.ComputedTorque,
    controllers.OperationalSpace,
    controllers.Impedance,
    controllers.Posture,
    controllers.Adaptive,
)
MOTION = ("t", "q", "dq", "ddq")
KINDS = ("<f8", "<i8", "|b1")


@functools.cache
def records() -> dict[str, type]:
    """The records that a text may name."""
    return {kind.__name__: kind for kind in (*DRAWS, *CONTROLLERS)}


def settings_text(settings: Mapping[str, Any]) -> str:
    """Settings as JSON; InputError names what is no plain data."""
    data = {name: encode(value, name) for name, value in settings.items()}
    return json.dumps(data, allow_nan=False, separators=(",", ":"))


def read_settings(text: str) -> dict[str, Any]:
    """The settings of a text."""
    try:
        data = json.loads(text)
    except ValueError as problem:
        raise ParseError(f"this is no text of settings: {problem}.") from None
    if not isinstance(data, dict):
        raise ParseError(f"settings are {data!r}; expected named entries.")
    return {name: decode(value) for name, value in data.items()}


def encode(value: Any, where: str) -> Any:
    """A value as JSON can hold it."""
    if value is None or isinstance(value, bool | str | int):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"number": repr(float(value))}
    if isinstance(value, np.generic | np.ndarray):
        return _array(np.asarray(value), where)
    if isinstance(value, list | tuple | range):
        return [encode(x, f"{where}[{k}]") for k, x in enumerate(value)]
    if isinstance(value, Mapping):
        return {"entries": {str(k): encode(x, f"{where}[{k!r}]") for k, x in value.items()}}
    if isinstance(value, Robot | Model):
        return {"model": model_text(value.model if isinstance(value, Robot) else value)}
    if isinstance(value, Trajectory):
        return {"trajectory": _motion(value, where)}
    if type(value) in records().values():
        fields = [x.name for x in dataclasses.fields(value) if x.init]
        own = {name: encode(getattr(value, name), f"{where}.{name}") for name in fields}
        return {"record": type(value).__name__, "fields": own}
    raise InputError(
        f"{where} is {_short(value)}, which is code or an object of its own; workers are given "
        "data alone. Use numbers, arrays, a Trajectory (sample a function of time into one), "
        "kinetree.controllers or kinetree.parallel's Normal, Uniform and others."
    )


def decode(data: Any) -> Any:
    """The value that was encoded."""
    if isinstance(data, list):
        return [decode(x) for x in data]
    if not isinstance(data, dict):
        return data
    match data:
        case {"number": str(text)} if text in ("inf", "-inf", "nan"):
            return float(text)
        case {"array": kind, "shape": list(shape), "data": str(text)} if kind in KINDS:
            flat = np.frombuffer(base64.b64decode(text, validate=True), kind)
            return flat.reshape(shape).copy()
        case {"entries": dict(entries)}:
            return {name: decode(x) for name, x in entries.items()}
        case {"model": str(text)}:
            return read_model_text(text)
        case {"trajectory": dict(parts)} if set(parts) <= {*MOTION, "model", "pieces"}:
            found = {name: decode(x) for name, x in parts.items()}
            pieces = from_arrays(found.pop("pieces", {}), found.get("model"))
            return Trajectory(**found, pieces=pieces)
        case {"record": str(name), "fields": dict(fields)} if name in records():
            return records()[name](**{key: decode(x) for key, x in fields.items()})
    raise ParseError(f"a setting is {_short(data)}; expected data written by kinetree.parallel.")


def _motion(value: Trajectory, where: str) -> dict[str, Any]:
    if value.batch_shape:
        raise InputError(
            f"{where} is a batch of motions of shape {value.batch_shape}; expected a single one, "
            "since rollouts are cut into chunks. Take trajectory.rollout(k)."
        )
    parts = {key: encode(getattr(value, key), f"{where}.{key}") for key in MOTION}
    if value.model is not None and not plain(value.model):  # how quaternions move
        parts["model"] = encode(value.model, f"{where}.model")
    if value.pieces is not None:  # the motion between the samples
        parts["pieces"] = encode(to_arrays(value.pieces), f"{where}.pieces")
    return parts


def _array(x: Any, where: str) -> dict[str, Any]:
    for kind in KINDS:
        if x.dtype.kind == np.dtype(kind).kind or (x.dtype.kind == "u" and kind == "<i8"):
            data = base64.b64encode(np.ascontiguousarray(x, kind).tobytes()).decode()
            return {"array": kind, "shape": list(x.shape), "data": data}
    raise InputError(f"{where} is an array of {x.dtype}; expected numbers.")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
