"""One state of a robot: joint vectors as typed, their units, and results as a table or JSON.

Vectors are typed as `0.1 0.2 -0.3`, `0.1,0.2,-0.3`, or `shoulder=0.1 elbow=0.2`. Degrees concern
angles alone: positions, rates and accelerations of hinges and screws, the angle of a planar joint,
and angular rates. Lengths stay in m, quaternions are numbers, forces stay in N m and N.
"""

import re
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

import numpy as np

from kinetree.algorithms import neutral
from kinetree.base.arrays import Array
from kinetree.base.tables import counted, number
from kinetree.cli.arguments import STREAM
from kinetree.cli.choices import nearest
from kinetree.cli.output import console, screen_table
from kinetree.description.joints import PRISMATIC
from kinetree.errors import InputError, NameLookupError, ShapeError
from kinetree.model import Model
from kinetree.model.inputs import coordinates
from kinetree.model.joint import COORDINATES, RATES

ANGLES = ("theta", "wx", "wy", "wz")  # parts of joints with several degrees of freedom
LENGTHS = ("x", "y", "z", "vx", "vy", "vz")
PER_TIME = {"q": "", "dq": "/s", "ddq": "/s^2"}

Words = Sequence[str] | None  # a vector as typed; None if it was left out


def names(model: Model, quantity: str) -> tuple[str, ...]:
    """Names of the entries of q, or of dq, ddq and tau."""
    return model.coordinate_names if quantity == "q" else model.dof_names


def units(model: Model, quantity: str, degrees: bool = False) -> list[str]:
    """Unit of every entry of "q", "dq", "ddq" or "tau"."""
    kinds = _kinds(model, quantity)
    if quantity == "tau":
        return ["N" if kind == "m" else "N m" for kind in kinds]
    angle = "deg" if degrees else "rad"
    return [(angle if x == "rad" else x) + PER_TIME[quantity] if x else "1" for x in kinds]


def factors(model: Model, quantity: str, degrees: bool) -> Array | float:
    """SI units in one unit of the user, for every entry: pi/180 for angles in degrees, else 1."""
    if not degrees or quantity == "tau":
        return 1.0
    return np.array([np.pi / 180 if x == "rad" else 1.0 for x in _kinds(model, quantity)])


def _kinds(model: Model, quantity: str) -> list[str]:
    """'rad', 'm' or '' (a number) of every entry, before it is divided by time."""
    parts_of = COORDINATES if quantity == "q" else RATES
    found: list[str] = []
    for joint in model.joints:
        if joint.follows is not None:
            continue
        parts = parts_of.get(joint.type)
        if parts is None:
            found.append("m" if joint.type == PRISMATIC else "rad")
        else:
            found += ["rad" if x in ANGLES else "m" if x in LENGTHS else "" for x in parts]
    return found


def read_state(model: Model, given: Mapping[str, Words], degrees: bool) -> dict[str, Array]:
    """Read every quantity in SI units; those left out are zero."""
    return {name: vector(model, name, words, degrees) for name, words in given.items()}


def refuse_both(data: str | None, given: Mapping[str, Words]) -> None:
    """Raise InputError if a state comes from the options and from a file."""
    typed = [f"--{name}" for name, words in given.items() if words]
    if data is not None and typed:
        source = "standard input" if data == STREAM else f"the file {data}"
        raise InputError(f"{', '.join(typed)} and {source} both give states; expected one of them.")


def vector(model: Model, quantity: str, words: Words, degrees: bool) -> Array:
    """Read q, dq, ddq or tau in SI units; entries left out are zero (q: the neutral position)."""
    default = neutral(model).astype(float) if quantity == "q" else np.zeros(model.n)
    if not words:
        return default
    pieces = [x for word in words for x in re.split(r"[,\s]+", word.strip("[]() ")) if x]
    known = names(model, quantity)
    scale = np.broadcast_to(factors(model, quantity, degrees), len(known))
    if any("=" in piece for piece in pieces):
        for name, value in _named(model, quantity, known, pieces).items():
            default[known.index(name)] = value * scale[known.index(name)]
        x = default
    elif len(pieces) != len(known):
        example = known[0] if known else "joint"
        raise ShapeError(
            f"--{quantity} has {counted(len(pieces), 'number')}; {model.name!r} needs "
            f"{len(known)}: {', '.join(known)}. Or name some of them: --{quantity} {example}=0.1."
        )
    else:
        pairs = zip(known, pieces, strict=True)
        x = np.array([_number(quantity, name, piece) for name, piece in pairs]) * scale
    return coordinates(model, x, "--q").astype(float) if quantity == "q" else x


def _named(
    model: Model, quantity: str, known: Sequence[str], pieces: Sequence[str]
) -> dict[str, float]:
    """Read entries such as shoulder=0.1."""
    found: dict[str, float] = {}
    for piece in pieces:
        name, equals, text = piece.rpartition("=")
        if not equals:
            raise InputError(
                f"--{quantity} mixes names and bare numbers: {piece!r} has no name. Name every "
                f"number, as in {known[0]}=0.1, or give all {len(known)} in order."
            )
        if name not in known:
            raise NameLookupError(
                f"--{quantity} names {name!r}; {model.name!r} has {', '.join(known)}."
                f"{nearest(name, known)}"
            )
        if name in found:
            raise InputError(f"--{quantity} names {name!r} twice; expected one number for it.")
        found[name] = _number(quantity, name, text)
    return found


def _number(quantity: str, name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise InputError(
            f"--{quantity}: {text!r} for {name!r} is not a number; expected one such as -0.5 or "
            "1e-3."
        ) from None
    if not isfinite(value):
        raise InputError(f"--{quantity}: {name!r} is {text}; expected a finite number.")
    return value


def document(
    model: Model, state: Mapping[str, Array], degrees: bool, *letters: str
) -> dict[str, Any]:
    """The state as JSON: names, units (also of the results `letters`), numbers in these units."""
    shown = {name: x / factors(model, name, degrees) for name, x in state.items()}
    return {
        "robot": model.name,
        "coordinates": list(model.coordinate_names),
        "joints": list(model.dof_names),
        "units": {name: units(model, name, degrees) for name in (*state, *letters)},
        **shown,
    }


def print_state(model: Model, shown: Mapping[str, Array], degrees: bool) -> None:
    """Print a row for every joint; q in a table of its own if it has more entries than dq.

    shown: joint vectors by name, q first, in the user's units.
    """
    if model.nq == model.n:
        _print(model, shown, degrees, model.name)
        return
    _print(model, {"q": shown["q"]}, degrees, model.name)
    console().print()
    _print(model, {name: x for name, x in shown.items() if name != "q"}, degrees, "")


def _print(model: Model, shown: Mapping[str, Array], degrees: bool, title: str) -> None:
    """Print quantities in columns; the unit is in the heading if all entries have the same."""
    heads, columns = ["joint"], [list(names(model, next(iter(shown))))]
    for name, x in shown.items():
        unit = units(model, name, degrees)
        same = len(set(unit)) == 1
        heads.append(f"{name}\n{unit[0]}" if same else f"{name}\n")
        texts = [number(v, 6) for v in x.tolist()]
        pairs = zip(texts, unit, strict=True)
        columns.append(texts if same else [a if b == "1" else f"{a} {b}" for a, b in pairs])
    console().print(screen_table(title, heads, list(zip(*columns, strict=True))))
