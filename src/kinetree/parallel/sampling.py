"""Arguments of samples: constants, grids and random numbers, each by the number of the sample."""

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from kinetree.algorithms.tangents import integrate
from kinetree.backends.kernel import Kernel
from kinetree.base.arrays import Array
from kinetree.compiler.graph import Port
from kinetree.compiler.optimise import optimise
from kinetree.compiler.trace import trace
from kinetree.errors import InputError, ShapeError
from kinetree.kernels.free import free_ports, free_values
from kinetree.model import Model
from kinetree.parallel.columns import argument_columns
from kinetree.parallel.draws import Anywhere, Choice, Grid, Normal, Spread, Uniform
from kinetree.parallel.philox import normals, uniforms, words
from kinetree.parallel.places import anywhere
from kinetree.simulate.inputs import check_quaternions

POSITIVE = {"mass", "friction"}
POSITIONS = {"q", "q0"}
FAR = 5  # standard deviations from the mean that a normal number may well have
RANDOM = (Normal, Uniform, Choice, Grid, Anywhere, Spread)


def varies(value: Any) -> bool:
    """Whether an argument differs between samples."""
    return isinstance(value, RANDOM)


class Arguments:
    """The arguments of a study, by name, for any samples.

    values, parameters: arguments of a quantity and data of the robot, as a user gave them.
    shapes: of one value of each of the former. repeats: samples for every point of the grids.
    """

    def __init__(
        self,
        model: Model,
        seed: int,
        repeats: int,
        values: Mapping[str, Any],
        shapes: Mapping[str, tuple[int, ...]],
        parameters: Mapping[str, Any],
    ) -> None:
        self.model, self.seed, self.repeats = model, seed, repeats
        self.parameters = tuple(port.name for port in free_ports(model, tuple(parameters)))
        self.own = {name: free_values(model, name) for name in self.parameters}
        self.shapes = {**shapes, **{name: x.shape for name, x in self.own.items()}}
        given = {**values, **parameters}
        self.values = {name: self._checked(name, value) for name, value in given.items()}
        for name in POSITIVE & set(self.values):
            _check_positive(name, self.values[name])
        for name in POSITIONS & set(self.values):
            _check_turns(model, name, self.values[name])
        grids = {name: x for name, x in self.values.items() if isinstance(x, Grid)}
        self.grids = {name: len(x.values) for name, x in grids.items()}
        self._move: Kernel | None = None

    @property
    def points(self) -> int:
        """Points of all grids together."""
        return math.prod(self.grids.values())

    @property
    def drawn(self) -> list[str]:
        """The arguments that differ between samples."""
        return [name for name, value in self.values.items() if varies(value)]

    @property
    def columns(self) -> list[str]:
        """Names of the columns of what is drawn."""
        return [x for name in self.drawn for x in argument_columns(self.model, name)]

    def __call__(self, name: str, samples: Array) -> Array:
        """Values of an argument, (S, *shape)."""
        value, shape, S = self.values[name], self.shapes[name], len(samples)
        count = math.prod(shape)
        match value:
            case Normal() if name in POSITIONS:
                return self._moved(name, value, samples)
            case Normal():
                z = normals(self.seed, name, samples, count).reshape(S, *shape)
                return value.mean + value.std * z
            case Uniform():
                u = uniforms(self.seed, name, samples, count).reshape(S, *shape)
                return value.low + (value.high - value.low) * u
            case Choice():
                word = words(self.seed, name, samples, 1)[:, 0]
                return value.values[(word % np.uint64(len(value.values))).astype(int)]
            case Grid():
                return value.values[self._place(name, samples)]
            case Anywhere():
                return anywhere(self.model, self.seed, name, samples)
            case Spread():
                return self._spread(name, value.share, samples)
        return np.broadcast_to(value, (S, *shape))

    def _place(self, name: str, samples: Array) -> Array:
        """Which value of a grid the samples have."""
        point = np.unravel_index(samples // self.repeats, tuple(self.grids.values()))
        return point[list(self.grids).index(name)]

    def _spread(self, name: str, share: float, samples: Array) -> Array:
        """One factor for the mass, centre or inertia of each link, one for gravity."""
        own = self.own[name]
        lead = () if name == "gravity" else own.shape[:1]
        u = uniforms(self.seed, name, samples, math.prod(lead))
        u = u.reshape(len(samples), *lead, *(1,) * (own.ndim - len(lead)))
        return own * (1 + share * (2 * u - 1))

    def _moved(self, name: str, value: Normal, samples: Array) -> Array:
        model = self.model
        v = value.std * normals(self.seed, name, samples, model.n)
        if model.nq == model.n:
            return value.mean + v
        if self._move is None:
            ports = [Port("q", (model.nq,)), Port("v", (model.n,))]
            graph = optimise(trace(partial(integrate, model), ports, [("moved", ())]))
            self._move = Kernel(graph, "move", dtypes=("float64",))
        return self._move(np.broadcast_to(value.mean, (len(samples), model.nq)), v)

    def _checked(self, name: str, value: Any) -> Any:
        """The argument with arrays of the right shapes."""
        shape, where = self.shapes[name], f"{name} of the study"
        match value:
            case Normal():
                sides = (self.model.n,) if name in POSITIONS else shape
                std = _array(value.std, sides, f"std of {where}")
                if (std < 0).any():
                    raise InputError(f"std of {where} is {std.tolist()}; expected 0 or more.")
                return Normal(_array(value.mean, shape, f"mean of {where}"), std)
            case Uniform():
                low, high = (_array(x, shape, f"range of {where}") for x in (value.low, value.high))
                if (low > high).any():
                    raise InputError(f"low of {where} is above high; exchange them.")
                return Uniform(low, high)
            case Choice() | Grid():
                x = np.asarray(value.values, float)
                if x.ndim == 0 or not len(x):
                    raise ShapeError(f"values of {where} have shape {x.shape}; expected (k, ...).")
                return type(value)(np.array([_array(v, shape, f"value of {where}") for v in x]))
            case Anywhere() if name not in POSITIONS:
                raise InputError(f"{where} is Anywhere(), which is for positions; use Uniform.")
            case Spread() if name not in self.own:
                raise InputError(f"{where} is a Spread, which is for data of the robot alone.")
            case Spread() if not 0 <= value.share < 1:
                raise InputError(f"share of {where} is {value.share}; expected 0 <= share < 1.")
            case Anywhere() | Spread():
                return value
        return _array(value, shape, where)


def _check_positive(name: str, value: Any) -> None:
    """Data that cannot be below zero."""
    match value:
        case Uniform():
            lowest = value.low
        case Choice() | Grid():
            lowest = value.values
        case Normal():
            lowest = value.mean - FAR * value.std
        case _:
            lowest = 0.0 if varies(value) else value
    if np.min(lowest) < 0:
        raise InputError(f"{name} of the study reaches {np.min(lowest):g}; expected 0 or more.")


def _check_turns(model: Model, name: str, value: Any) -> None:
    """Quaternions are of length 1, and are not drawn number by number."""
    match value:
        case Uniform():
            if model.nq != model.n and (value.low != value.high).any():
                raise InputError(
                    f"{name} of the study is Uniform, but {model.name!r} has quaternions, whose "
                    "numbers are not drawn one by one; use Normal, Choice or Anywhere."
                )
            check_quaternions(model, value.low, name)
        case Choice() | Grid():
            check_quaternions(model, value.values, name)
        case Normal():
            check_quaternions(model, value.mean, f"the mean of {name}")
        case _ if not varies(value):
            check_quaternions(model, value, name)


def _array(value: Any, shape: tuple[int, ...], where: str) -> Array:
    """A number, an array of the shape, or of its last axes, for all of it."""
    try:
        x = np.asarray(value, float)
    except (TypeError, ValueError):
        raise InputError(f"{where} is {value!r}; expected numbers.") from None
    if x.shape != shape[len(shape) - x.ndim :] or x.ndim > len(shape):
        raise ShapeError(f"{where} has shape {x.shape}; expected a number or shape {shape}.")
    if not np.isfinite(x).all():
        raise InputError(f"{where} is {x.tolist()}; expected finite numbers.")
    return np.broadcast_to(x, shape)
