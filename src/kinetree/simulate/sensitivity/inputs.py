"""Inputs that a motion can be differentiated by, and the places at which they enter a step.

Initial states are inputs of the first step alone. Constants (forces, wrenches, data of the robot)
enter every step; the samples of a signal enter the steps near their times, by weights.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics import parameter_list
from kinetree.engine.kernels.free import FREE, OF_CONTACTS, free_values
from kinetree.errors import InputError
from kinetree.simulate.inputs import ExternalInputs, Signal
from kinetree.simulate.options import Run

STATE = ("q0", "dq0")
FORCES = ("tau", "F_ext")
PARAMETERS = "parameters"  # pi of `dynamics.parameters`
KNOWN = (*STATE, *FORCES, PARAMETERS, *FREE)


@dataclass(frozen=True, eq=False)
class Weights:
    """Samples of a signal behind the values that enter steps, (E, S), of all rollouts.

    The value is (1 - share) values[first] + share values[first + 1]; `count` samples in all.
    """

    first: Array
    share: Array
    count: int


@dataclass(frozen=True, eq=False)
class Input:
    """One input: its shape, and its first place in an argument of the rate.

    port: "p" for constants, "s" for values over time, "pi" for `dynamics.parameters`; "" for
    initial states, which enter no step. weights: of a signal.
    """

    name: str
    shape: tuple[int, ...]
    port: str = ""
    first: int = 0
    weights: Weights | None = None

    @property
    def size(self) -> int:
        """Count of its numbers (for a signal: at one time)."""
        return math.prod(self.shape)

    @property
    def samples(self) -> int:
        """Count of samples of a signal; 1 for other inputs."""
        return 1 if self.weights is None else self.weights.count

    @property
    def values(self) -> int:
        """Count of its values that enter one step: one for each stage of a signal."""
        return 1 if self.weights is None else self.weights.first.shape[1]


def read_names(wrt: str | Sequence[str]) -> tuple[str, ...]:
    """Read the names of inputs, each known and given once."""
    names = (wrt,) if isinstance(wrt, str) or not isinstance(wrt, Iterable) else tuple(wrt)
    if not names:
        raise InputError(f"wrt is empty; expected some of {', '.join(KNOWN)}.")
    for k, name in enumerate(names):
        if name not in KNOWN:
            raise InputError(f"wrt has {name!r}; expected some of {', '.join(KNOWN)}.")
        if name in names[:k]:
            raise InputError(f"wrt has {name!r} twice; name it once.")
    return names


def complete(run: Run, names: Sequence[str]) -> Run:
    """The run with zeros and the robot's own data for the inputs that were not given."""
    model, parameters = run.model, dict(run.parameters or {})
    varied = parameters | dict.fromkeys(names)
    double = [name for name in FREE if name not in ("gravity", *OF_CONTACTS) and name in varied]
    if PARAMETERS in names and double:
        raise InputError(
            f"wrt has 'parameters', all of the robot's, and {', '.join(double)} is given or asked "
            "for as well, which is among them. Ask for one of both, and change the robot itself."
        )
    for name in names:
        if name in FREE and name not in parameters:
            parameters[name] = free_values(model, name)
    zeros = {"tau": np.zeros(model.n), "F_ext": np.zeros((len(model.links), 6))}
    forces: dict[str, Any] = {name: getattr(run, name) for name in FORCES}
    for name in set(FORCES) & {*names}:
        if callable(forces[name]):
            raise InputError(
                f"wrt has {name!r}, but {name} is a function, which has no numbers to "
                "differentiate by. Give an array, or kinetree.simulate.signal(t, values)."
            )
        if forces[name] is None:
            forces[name] = zeros[name]
    return replace(run, parameters=parameters, **forces)


def find_inputs(
    run: Run, external: ExternalInputs, names: Sequence[str], stages: Array, ends: Array
) -> tuple[Input, ...]:
    """Every input of `wrt`.

    stages, (E, S): times at which rates are evaluated. ends: those that end a step.
    """
    return tuple(_find(run, external, name, stages, ends) for name in names)


def _find(run: Run, external: ExternalInputs, name: str, stages: Array, ends: Array) -> Input:
    if name in STATE:
        return Input(name, (run.model.n,))
    if name == PARAMETERS:
        return Input(name, (len(parameter_list(run.model)),), "pi")
    if name in external.sampled:
        weights = _weights(getattr(run, name), stages, ends)
        return Input(
            name, external.sampled[name].shapes[0], "s", external.places[name].start, weights
        )
    key = name if name in FORCES else f"parameter {name}"
    return Input(name, external.constants[key].shapes[0], "p", external.places[key].start)


def _weights(signal: Signal, stages: Array, ends: Array) -> Weights:
    """Weights from the signal's own rule, applied to the numbers of its samples."""
    count = len(signal.t)
    numbers = replace(signal, values=np.arange(count, dtype=float))  # 2.5: halfway from 2 to 3
    at = numbers.at(stages.ravel(), np.broadcast_to(ends, stages.shape).ravel())
    at = at.reshape(stages.shape)
    first = np.clip(np.floor(at).astype(int), 0, max(0, count - 2))
    return Weights(first, at - first, count)
