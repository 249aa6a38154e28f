"""Joint vectors as typed: `0.1 0.2 -0.3`, `0.1,0.2,-0.3`, or `shoulder=0.1 elbow=0.2`."""

import re
from collections.abc import Sequence
from math import isfinite

import numpy as np

from kinetree.algorithms import neutral
from kinetree.model.inputs import coordinates
from kinetree.base.arrays import Array
from kinetree.base.tables import counted
from kinetree.cli.angles import factors, names
from kinetree.cli.choices import nearest
from kinetree.errors import InputError, NameLookupError, ShapeError
from kinetree.model import Model


def vector(model: Model, quantity: str, words: Sequence[str] | None, degrees: bool) -> Array:
    """The entries of q, dq, ddq or tau in SI units; what is not given is zero (q: neutral)."""
    default = neutral(model).astype(float) if quantity == "q" else np.zeros(model.n)
    if not words:
        return default
    pieces = [x for word in words for x in re.split(r"[,\s]+", word.strip("[]() ")) if x]
    known = names(model, quantity)
    scale = np.broadcast_to(factors(model, quantity, degrees), len(known))
    if any("=" in piece for piece in pieces):
        for name, value in _named(model, quantity, known, pieces):
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
) -> list[tuple[str, float]]:
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
    return list(found.items())


def _number(quantity: str, name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise InputError(
            f"--{quantity}: {text!r} for {name!r} is no number; expected one such as -0.5 or 1e-3."
        ) from None
    if not isfinite(value):
        raise InputError(f"--{quantity}: {name!r} is {text}; expected a finite number.")
    return value
