"""Draws of a study: what varies between its samples, and the numbers of any sample.

A sample has the same numbers wherever and beside whichever other samples it is computed: they
depend on the seed, the name of the argument and the number of the sample alone.
"""

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, TypeAlias
from zlib import crc32

import numpy as np

from kinetree import dynamics
from kinetree.core.arrays import Array, ArrayLike
from kinetree.core.options import count
from kinetree.dynamics.joints.configuration import random_positions
from kinetree.engine.compiler.law import TracedLaw
from kinetree.engine.kernels.free import OF_CONTACTS, check_free, free_ports, free_values, owners
from kinetree.errors import InputError, ShapeError
from kinetree.model import Model
from kinetree.model.inputs import coordinate_axis, dof_axis, link_axis
from kinetree.motion.inputs import positive
from kinetree.present.labels import Alignment, Axis

POSITIONS, RATES = ("q", "q0"), ("dq", "dq0", "ddq", "tau")
FORCES = ("tau", "F_ext")
AXES = ("x", "y", "z")
PARTS = {  # columns of the data of one link, spring or contact
    "mass": ("",),
    "com": AXES,
    "inertia": tuple(a + b for a in AXES for b in AXES),
    "friction": ("viscous+", "viscous-", "coulomb+", "coulomb-"),
    "springs": ("stiffness", "rest"),
    **dict.fromkeys(OF_CONTACTS, ("",)),
    "F_ext": ("nx", "ny", "nz", "fx", "fy", "fz"),
}
BLOCK = 64  # samples that share a generator: one for each sample would cost as much as its rollout


@dataclass(frozen=True, eq=False)
class Normal:
    """Normal distribution; mean and standard deviation are numbers or of the argument's shape.

    For positions, `std` belongs to the n degrees of freedom: the robot is moved from `mean` along
    tangent vectors, so that quaternions stay of length 1.

    Args:
        mean: mean, a number or the shape of the argument, (nq,) for positions, in the unit of the
            argument.
        std: standard deviation, a number or the shape of the argument, (n,) for positions, in the
            unit of the argument.
    """

    mean: ArrayLike = 0.0
    std: ArrayLike = 1.0


@dataclass(frozen=True, eq=False)
class Uniform:
    """Uniform distribution from `low` to `high`, each a number or of the argument's shape.

    Args:
        low: lower end, a number or the shape of the argument, such as (n,), in the unit of the
            argument.
        high: upper end, a number or the shape of the argument, such as (n,), in the unit of the
            argument.
    """

    low: ArrayLike = 0.0
    high: ArrayLike = 1.0


@dataclass(frozen=True, eq=False)
class Choice:
    """One of `values`, (k, ...), each with the same probability.

    Args:
        values: the values, shape (k, ...), in the unit of the argument.
    """

    values: ArrayLike


@dataclass(frozen=True, eq=False)
class Grid:
    """Each of `values`, (k, ...), in turn, combined with all points of the other grids.

    Args:
        values: the values, shape (k, ...), in the unit of the argument.
    """

    values: ArrayLike


@dataclass(frozen=True, eq=False)
class Anywhere:
    """Positions within the joint limits, as `Robot.random` draws them."""


@dataclass(frozen=True, eq=False)
class Spread:
    """The robot's own data times a factor from 1 - share to 1 + share, drawn for each link.

    Args:
        share: largest relative change, dimensionless.
    """

    share: float


@dataclass(frozen=True, eq=False)
class Noise:
    """Normally distributed forces with standard deviation `std`, drawn anew every `hold` s.

    Args:
        std: standard deviation, a number or shape (n,) or (l, 6), N m or N.
        hold: time between draws, s.
    """

    std: ArrayLike
    hold: float


Draw: TypeAlias = Normal | Uniform | Choice | Grid | Anywhere | Spread
Force: TypeAlias = ArrayLike | Draw | Noise | TracedLaw


def drawn(
    seed: int, stream: str, samples: Array, draw: Callable[[np.random.Generator], Array]
) -> Array:
    """Random numbers of consecutive samples, (S, ...): draw(generator) makes those of a block."""
    first, last = int(samples[0]) // BLOCK, int(samples[-1]) // BLOCK
    name = crc32(stream.encode())
    blocks = [draw(np.random.default_rng([seed, name, b])) for b in range(first, last + 1)]
    return np.concatenate(blocks)[samples - first * BLOCK]


@dataclass(frozen=True, eq=False)
class Arguments:
    """The arguments of a study by name, for any samples.

    values: arrays of the argument's shape, and draws of them. own: data of the robot that vary.
    repeats: samples at every point of the grids.
    """

    model: Model
    seed: int
    repeats: int
    values: Mapping[str, Array | Draw]
    shapes: Mapping[str, tuple[int, ...]]
    own: Mapping[str, Array]

    @property
    def grids(self) -> dict[str, int]:
        """Number of values of every grid."""
        grids = {name: x for name, x in self.values.items() if isinstance(x, Grid)}
        return {name: len(np.asarray(x.values)) for name, x in grids.items()}

    @property
    def drawn(self) -> list[str]:
        """Names of the arguments that differ between samples."""
        return [name for name, value in self.values.items() if isinstance(value, Draw)]

    @property
    def samples(self) -> int:
        """Number of samples in all."""
        return self.repeats * math.prod(self.grids.values())

    @property
    def columns(self) -> list[str]:
        """Column names of the arguments that differ between samples."""
        return [x for name in self.drawn for x in columns_of(self.model, name)]

    def of(self, samples: Array) -> dict[str, Array]:
        """Values of all arguments, each (S, *shape)."""
        return {name: self._values(name, samples) for name in self.values}

    def table(self, samples: Array) -> list[Array]:
        """The drawn values, each (S, size)."""
        return [self._values(name, samples).reshape(len(samples), -1) for name in self.drawn]

    def _values(self, name: str, samples: Array) -> Array:
        value, shape = self.values[name], self.shapes[name]
        of = functools.partial(drawn, self.seed, name, samples)
        match value:
            case Normal(mean, std):
                size = (self.model.n,) if name in POSITIONS else shape
                v = std * of(lambda rng: rng.normal(size=(BLOCK, *size)))
                if size == shape:
                    return mean + v
                return np.array([dynamics.integrate(self.model, mean, x) for x in v], float)
            case Uniform(low, high):
                share = of(lambda rng: rng.random((BLOCK, *shape)))
                return low + (np.asarray(high) - low) * share
            case Choice(values):
                x = np.asarray(values)
                return x[of(lambda rng: rng.integers(len(x), size=BLOCK))]
            case Grid(values):
                point = np.unravel_index(samples // self.repeats, tuple(self.grids.values()))
                return np.asarray(values)[point[list(self.grids).index(name)]]
            case Anywhere():
                return of(lambda rng: random_positions(self.model, rng, BLOCK))
            case Spread(share):
                data = self.own[name]
                lead = () if name == "gravity" else data.shape[:1]
                u = of(lambda rng: rng.uniform(-1, 1, (BLOCK, *lead)))
                return data * (1 + share * u.reshape(*u.shape, *(1,) * (data.ndim - len(lead))))
            case _:
                return np.broadcast_to(value, (len(samples), *shape))


def read_arguments(
    model: Model,
    seed: int,
    repeats: int,
    values: Mapping[str, ArrayLike | Draw],
    shapes: Mapping[str, tuple[int, ...]],
    parameters: Mapping[str, ArrayLike | Draw] | None,
) -> Arguments:
    """The arguments of a study, checked and in the order of the robot."""
    given = dict(parameters or {})
    own = {port.name: free_values(model, port.name) for port in free_ports(model, tuple(given))}
    shapes = {**shapes, **{name: x.shape for name, x in own.items()}}
    checked = {
        name: _checked(model, name, by_joint(model, name, x), shapes[name], name in own)
        for name, x in {**values, **given}.items()
    }
    for name in own:
        value = checked[name]
        if isinstance(value, np.ndarray | Choice | Grid):  # simulate checks the others
            check_free(model, name, np.asarray(getattr(value, "values", value), float))
    return Arguments(model, count(seed, "seed"), some(repeats, "n"), checked, shapes, own)


def some(value: Any, name: str) -> int:
    """A number of things, of which there is one at least."""
    if count(value, name) < 1:
        raise InputError(f"{name} is {value}; expected 1 or more.")
    return int(value)


def by_joint(model: Model, name: str, value: Any) -> Any:
    """An argument with labelled arrays in it put into the order of the robot."""
    axis, steps = _axis(model, name), dof_axis(model) if name in POSITIONS else _axis(model, name)
    if not isinstance(value, Normal | Uniform | Choice | Grid | Noise):
        return Alignment([(value, axis, name)]).values[0]
    parts = [x.name for x in fields(value) if x.name != "hold"]
    given = [(getattr(value, x), steps if x == "std" else axis, name) for x in parts]
    return replace(value, **dict(zip(parts, Alignment(given).values, strict=True)))


def _axis(model: Model, name: str) -> Axis | None:
    """The names along an argument; None if it has none, or several axes."""
    if name in POSITIONS:
        return coordinate_axis(model)
    if name in RATES:
        return dof_axis(model)
    return link_axis(model) if name == "mass" else None


def _checked(model: Model, name: str, value: Any, shape: tuple[int, ...], own: bool) -> Any:
    """An argument with arrays of the right shapes in it."""
    where = f"{name} of the study"
    match value:
        case Normal(mean, std):
            size = (model.n,) if name in POSITIONS else shape
            return Normal(_array(mean, shape, f"mean of {where}"), _spread(std, size, where))
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
        case Anywhere() if name in POSITIONS:
            return value
        case Spread(share) if own and 0 <= share < 1:
            return value
        case Anywhere() | Spread():
            raise InputError(
                f"{where} is {value}; expected Anywhere() for positions alone, and Spread(share) "
                "for data of the robot, with a share from 0 to below 1."
            )
        case _:
            return _array(value, shape, where)


def read_noise(model: Model, name: str, noise: Noise, shape: tuple[int, ...]) -> Noise:
    """Check a random force."""
    if name not in FORCES:
        raise InputError(f"{name} is Noise, which is for tau and F_ext; use Normal.")
    noise = by_joint(model, name, noise)
    hold = positive(noise.hold, f"hold of the noise of {name}", "s")
    return Noise(_spread(noise.std, shape, name), hold)


def _spread(std: ArrayLike, shape: tuple[int, ...], where: str) -> Array:
    """Standard deviations of a shape."""
    x = _array(std, shape, f"std of {where}")
    if (x < 0).any():
        raise InputError(f"std of {where} is {x.tolist()}; expected 0 or more.")
    return x


def _array(value: ArrayLike, shape: tuple[int, ...], where: str) -> Array:
    """`value` broadcast to `shape`: a number, or an array of the shape or of its last axes."""
    try:
        x = np.asarray(value, float)
    except (TypeError, ValueError):
        expected = "expected numbers, or a distribution such as Normal()"
        raise InputError(f"{where} is {value!r:.80}; {expected}.") from None
    if x.shape != shape[len(shape) - x.ndim :] or x.ndim > len(shape):
        raise ShapeError(f"{where} has shape {x.shape}; expected a number or shape {shape}.")
    if not np.isfinite(x).all():
        raise InputError(f"{where} is {x.tolist()}; expected finite numbers.")
    return np.broadcast_to(x, shape)


def columns_of(model: Model, name: str) -> list[str]:
    """Column names of an argument in the order of its entries: `q:elbow`, `F_ext.fz:tool`."""
    if name in POSITIONS:
        return [f"{name}:{x}" for x in model.coordinate_names]
    if name in RATES:
        return [f"{name}:{x}" for x in model.dof_names]
    if name == "gravity":
        return [f"gravity:{x}" for x in AXES]
    parts = [f".{x}" if x else "" for x in PARTS[name]]
    return [f"{name}{part}:{owner}" for owner in owners(model, name) for part in parts]
