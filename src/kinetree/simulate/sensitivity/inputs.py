"""Inputs that a motion can be differentiated by, and the places at which they enter a step.

Initial states are inputs of the first step alone. Constants (forces, wrenches, data of the robot)
enter every step; the samples of a signal enter the steps near their times, by weights.
"""

import math
from collections.abc import Callable, Iterable, Sequence
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
Numbers = Callable[[Array, Array], Array]  # of times and whether they end a step
KNOWN = (*STATE, *FORCES, PARAMETERS, *FREE)


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
    for name in FORCES:
        if name in names and callable(forces[name]):
            raise InputError(
                f"wrt has {name!r}, but {name} is a function, which has no numbers to "
                "differentiate by. Give an array, or kinetree.simulate.signal(t, values)."
            )
        if name in names and forces[name] is None:
            forces[name] = zeros[name]
    return replace(run, parameters=parameters, **forces)


@dataclass(frozen=True, eq=False)
class Weights:
    """Samples of a signal behind the values that enter steps, (E, S, B), of all rollouts B = 1.

    The value is (1 - share) values[first] + share values[first + 1]; `count` samples in all.
    """

    first: Array
    share: Array
    count: int


@dataclass(frozen=True, eq=False)
class Input:
    """One input: its shape, and its place among the constants p or samples s of a step.

    place: None for initial states and for pi, which are not among them. weights: of a signal.
    """

    name: str
    shape: tuple[int, ...]
    place: slice | None = None
    weights: Weights | None = None

    @property
    def size(self) -> int:
        """Count of its numbers (for a signal: at one time)."""
        return math.prod(self.shape)

    @property
    def samples(self) -> int:
        """Count of samples of a signal; 1 for other inputs."""
        return 1 if self.weights is None else self.weights.count


@dataclass(frozen=True, eq=False)
class Directions:
    """Directions in which a step is differentiated, side by side as columns.

    First the `states` tangent vectors of its state; then the numbers of each constant; then, for
    each of the `values` of a signal that enter a step, the numbers of all signals.
    """

    states: int
    inputs: tuple[Input, ...]
    values: int

    @property
    def constants(self) -> list[Input]:
        """Inputs that enter every step."""
        return [x for x in self.inputs if x.name not in STATE and x.weights is None]

    @property
    def signals(self) -> list[Input]:
        """Inputs that are samples of a signal."""
        return [x for x in self.inputs if x.weights is not None]

    @property
    def of_constants(self) -> slice:
        """The columns of the constants."""
        return slice(self.states, self.states + sum(x.size for x in self.constants))

    @property
    def width(self) -> int:
        """Count of numbers of all signals at one time."""
        return sum(x.size for x in self.signals)

    @property
    def count(self) -> int:
        """Count of columns."""
        return self.of_constants.stop + self.values * self.width

    def split(self, changes: Array) -> tuple[Array, dict[str, Array]]:
        """Split changes (..., columns, N) into A, (..., N, N), and B by name, (..., N, S, size).

        S is `values` for a signal, and 1 for a constant.
        """
        changes, by = changes.swapaxes(-1, -2), dict[str, Array]()
        lead, at = changes.shape[:-1], self.states
        for x in self.constants:
            by[x.name] = changes[..., None, at : at + x.size]
            at += x.size
        by_samples, at = changes[..., at:].reshape(*lead, self.values, self.width), 0
        for x in self.signals:
            by[x.name] = by_samples[..., at : at + x.size]
            at += x.size
        return changes[..., : self.states], by


def sample_numbers(signal: Signal) -> Numbers:
    """The number of the sample at a time, by the signal's rule; 2.5 is halfway from 2 to 3."""
    return replace(signal, values=np.arange(len(signal.t), dtype=float)).at


def _weights(signal: Signal, stages: Array, ends: Array) -> Weights:
    """Weights from the signal's own rule, applied to the numbers of its samples."""
    count = len(signal.t)
    at = sample_numbers(signal)(stages.ravel(), np.broadcast_to(ends, stages.shape).ravel())
    at = at.reshape(stages.shape)
    first = np.clip(np.floor(at).astype(int), 0, max(0, count - 2))
    return Weights(first[..., None], (at - first)[..., None], count)


def find_inputs(
    run: Run, external: ExternalInputs, names: Sequence[str], stages: Array, ends: Array
) -> tuple[Input, ...]:
    """Every input of `wrt`.

    stages, (E, S): times at which rates are evaluated. ends: those that end a step.
    """
    model = run.model
    places = external.places
    inputs: list[Input] = []
    for name in names:
        if name in STATE:
            inputs.append(Input(name, (model.n,)))
        elif name == PARAMETERS:
            inputs.append(Input(name, (len(parameter_list(model)),)))
        elif name in FORCES and name in external.sampled:
            shape = external.sampled[name].shapes[0]
            weights = _weights(getattr(run, name), stages, ends)
            inputs.append(Input(name, shape, places[name], weights))
        else:
            key = name if name in FORCES else f"parameter {name}"
            inputs.append(Input(name, external.constants[key].shapes[0], places[key]))
    return tuple(inputs)
