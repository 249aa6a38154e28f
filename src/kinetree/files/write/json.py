"""Model -> JSON, the records of its description, and back.

The document is a `RobotDescription`: every record is an object whose keys are the fields of the
record, in SI units and radians. Infinite numbers, which JSON lacks, are null. Poses M_pc and T are
4x4 matrices by rows, the axis A of a joint is a screw (angular, linear) in the child's frame.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from math import inf, isinf
from typing import Any, get_args, get_type_hints

import numpy as np

from kinetree.errors import ParseError
from kinetree.files.description.records import RobotDescription
from kinetree.files.write.losses import Losses, Policy, check_policy, in_floats
from kinetree.model import Model

FORMAT = "kinetree model 1"
UNWRITTEN = ("notes", "warnings", "collisions", "where", "function")


def to_json(model: Model, *, losses: Policy = "warn") -> str:
    """Write the robot as JSON, which `from_json` reads back as the same robot, bit by bit.

    Friction functions of Python cannot be written; one warning lists them. Meshes and notes are not
    part of a model.

    Args:
        model: the robot, in numbers.
        losses: "warn", "error" or "allow": the reaction to friction functions.
    """
    check_policy(losses)
    model, lost = in_floats(model, "JSON"), Losses("JSON")
    for joint in model.joints:
        if joint.friction.function is not None:
            lost.add(f"the friction function of joint {joint.name!r}")
    lost.report(model, losses)
    about = {"format": FORMAT, "not_written": lost.found}
    text = json.dumps(about | _plain(model.description), indent=1, allow_nan=False)
    return re.sub(r"\[[-\d.,e+\s]*\]", lambda row: " ".join(row[0].split()), text) + "\n"


def from_json(text: str) -> RobotDescription:
    """Read the records that `to_json` has written."""
    document = json.loads(text)
    if not isinstance(document, dict) or document.pop("format", None) != FORMAT:
        raise ParseError(f"the text is not a robot in JSON; expected the format {FORMAT!r}.")
    document.pop("not_written", None)
    return _record(RobotDescription, document)


def _plain(value: Any) -> Any:
    """Records, mappings and arrays as objects and lists of JSON."""
    if is_dataclass(value):
        names = (x.name for x in fields(value) if x.name not in UNWRITTEN)
        return {name: _plain(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {str(key): _plain(x) for key, x in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(x) for x in value]
    return None if isinstance(value, float) and isinf(value) else value


def _record(kind: Any, document: Mapping[str, Any]) -> Any:
    """A record from its object; null is the default of a field, which is None or infinite."""
    hints = get_type_hints(kind)
    given = {key: x for key, x in document.items() if x is not None}
    return kind(**{key: _value(hints[key], x) for key, x in given.items()})


def _value(hint: Any, x: Any) -> Any:
    """A value of a field; an object is the record of the hint that has its keys, or a mapping."""
    if isinstance(x, list):
        rows = [
            y for y in x if isinstance(y, list) and not any(isinstance(z, list | str) for z in y)
        ]
        if x and len(rows) == len(x):
            return np.array(x)
        ends = (-inf, inf) if len(x) == 2 else ()  # null in a pair is no limit
        return tuple(ends[k] if y is None and ends else _value(hint, y) for k, y in enumerate(x))
    if not isinstance(x, dict):
        return x
    for kind in _records(hint):
        written = [y for y in fields(kind) if y.name not in UNWRITTEN]
        needed = {y.name for y in written if y.default is y.default_factory is MISSING}
        # an older document lacks newer fields
        if x and needed <= x.keys() <= {y.name for y in written}:
            return _record(kind, x)
    return {key: _value(hint, y) for key, y in x.items()}


def _records(hint: Any) -> Iterator[Any]:
    """Records in a type hint."""
    if is_dataclass(hint):
        yield hint
    for part in get_args(hint):
        yield from _records(part)
