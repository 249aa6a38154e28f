"""What a trajectory can be differentiated by: where each input enters a step.

Initial states are inputs of the first step alone. Constants (forces, wrenches, data of the robot)
enter every step; the samples of a signal enter the steps near their times, by weights.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kinetree.algorithms import parameter_list
from kinetree.base.arrays import Array
from kinetree.errors import InputError
from kinetree.kernels.free import FREE, free_values
from kinetree.model import Model
from kinetree.simulate.core.external import ExternalInputs
from kinetree.simulate.core.signals import Signal, sample_signal

STATE = ("q0", "dq0")
FORCES = ("tau", "F_ext")
PARAMETERS = "parameters"  # pi of `algorithms.parameters`
Numbers = Callable[[Array, Array], Array]  # of times and whether they end a step
KNOWN = (*STATE, *FORCES, PARAMETERS, *FREE)


@dataclass(frozen=True, eq=False)
class Given:
    """Arguments of a simulation with a number for everything that it is differentiated by."""

    tau: Any
    F_ext: Any
    parameters: dict[str, Any]


def read_names(wrt: str | Sequence[str]) -> tuple[str, ...]:
    """Names that are known, each once."""
    names = (wrt,) if isinstance(wrt, str) or not isinstance(wrt, Iterable) else tuple(wrt)
    if not names:
        raise InputError(f"wrt is empty; expected some of {', '.join(KNOWN)}.")
    for k, name in enumerate(names):
        if name not in KNOWN:
            raise InputError(f"wrt has {name!r}; expected some of {', '.join(KNOWN)}.")
        if name in names[:k]:
            raise InputError(f"wrt has {name!r} twice; name it once.")
    return names


def complete(
    model: Model,
    names: Sequence[str],
    tau: Any,
    F_ext: Any,
    parameters: Mapping[str, Any] | None,
) -> Given:
    """Zeros and the robot's own data for what is differentiated by but was not given."""
    found = dict(parameters or {})
    double = [name for name in FREE if name != "gravity" and name in found | dict.fromkeys(names)]
    if PARAMETERS in names and double:
        raise InputError(
            f"wrt has 'parameters', all of the robot's, and {', '.join(double)} is given or asked "
            "for as well, which is among them. Ask for one of both, and change the robot itself."
        )
    found |= {name: free_values(model, name) for name in names if name in FREE if name not in found}
    for name, value in (("tau", tau), ("F_ext", F_ext)):
        if name in names and callable(value):
            raise InputError(
                f"wrt has {name!r}, but {name} is a function, which has no numbers to "
                "differentiate by. Give an array, or kinetree.simulate.signal(t, values)."
            )
    if tau is None and "tau" in names:
        tau = np.zeros(model.n)
    if F_ext is None and "F_ext" in names:
        F_ext = np.zeros((len(model.links), 6))
    return Given(tau, F_ext, found)


@dataclass(frozen=True, eq=False)
class Input:
    """One input: its shape, and its place among the constants p or samples s of a step.

    place: None for initial states and for pi, which no step is given. weights: of a signal.
    """

    name: str
    shape: tuple[int, ...]
    place: slice | None = None
    weights: "Weights | None" = None

    @property
    def size(self) -> int:
        """Numbers in it (of a signal: at one time)."""
        return math.prod(self.shape)


@dataclass(frozen=True, eq=False)
class Weights:
    """Samples of a signal behind the values that enter steps, (E, S, B), of all rollouts B = 1.

    The value is (1 - share) values[first] + share values[first + 1]; `count` samples in all.
    """

    first: Array
    share: Array
    count: int


def sample_numbers(found: Signal) -> Numbers:
    """Which sample stands at a time, 2.5 being halfway from number 2 to 3, by the signal's rule."""
    numbers = replace(found, values=np.arange(len(found.t), dtype=float))
    sampled = sample_signal(numbers, (), "")

    def at(times: Array, ends: Array) -> Array:
        return np.asarray(sampled.at(times, ends)[0], float)

    return at


def make_weights(found: Signal, stages: Array, ends: Array) -> Weights:
    """From the signal's own rule, applied to the numbers of its samples."""
    count = len(found.t)
    at = sample_numbers(found)(stages.ravel(), np.broadcast_to(ends, stages.shape).ravel())
    at = at.reshape(stages.shape)
    first = np.clip(np.floor(at).astype(int), 0, max(0, count - 2))
    return Weights(first[..., None], (at - first)[..., None], count)


def find_inputs(
    model: Model,
    names: Sequence[str],
    given: Given,
    external: ExternalInputs,
    stages: Array,
    ends: Array,
) -> tuple[Input, ...]:
    """Every input of `wrt`; stages, (E, S): times at which rates are evaluated."""
    constants = _places({name: [shape] for name, (_, shape) in external.constants.items()})
    sampled = _places({name: source.shapes for name, source in external.sampled.items()})
    found = []
    for name in names:
        if name in STATE:
            found.append(Input(name, (model.n,)))
        elif name == PARAMETERS:
            found.append(Input(name, (len(parameter_list(model)),)))
        elif name in FORCES and name in sampled:
            shape = external.sampled[name].shapes[0]
            weights = make_weights(getattr(given, name), stages, ends)
            found.append(Input(name, shape, sampled[name], weights))
        else:
            key = name if name in FORCES else f"parameter {name}"
            found.append(Input(name, external.constants[key][1], constants[key]))
    return tuple(found)


def _places(shapes: Mapping[str, Sequence[tuple[int, ...]]]) -> dict[str, slice]:
    """Where the numbers of each name stand, in the order of the external."""
    found, at = {}, 0
    for name, parts in shapes.items():
        end = at + sum(math.prod(shape) for shape in parts)
        found[name] = slice(at, end)
        at = end
    return found
