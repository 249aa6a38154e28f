"""Arguments of samples: how they are drawn, and their values by the number of the sample.

`Normal`, `Uniform` and the other records describe how an argument of a study varies. `Arguments`
checks them once, and then gives the values of any samples: constants, points of grids, or random
numbers that depend on the seed, the name of the argument and the number of the sample alone.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from kinetree.core.arrays import Array, ArrayLike
from kinetree.core.axis import Axis
from kinetree.core.labels import Alignment
from kinetree.dynamics.joints.tangents import integrate
from kinetree.engine.compiler.graph import Port
from kinetree.engine.compiler.optimise import optimise
from kinetree.engine.compiler.trace import trace
from kinetree.engine.kernel import Kernel
from kinetree.engine.kernels.free import OF_CONTACTS, check_free, free_ports, free_values, owners
from kinetree.errors import InputError, ShapeError
from kinetree.files.description.joints import FREE, PLANAR, PRISMATIC, SPHERICAL
from kinetree.model import Joint, Model
from kinetree.model.inputs import coordinate_axis, dof_axis, link_axis
from kinetree.parallel.philox import normals, uniforms, words
from kinetree.simulate.core.setup import check_quaternions

POSITIVE = {"mass", "friction"}
POSITIONS, RATES = ("q", "q0"), ("dq", "dq0", "ddq", "tau")
POSITIVE_DEVIATIONS = 5  # standard deviations from the mean within which masses must stay positive
REACH_M = 1.0  # largest distance of free and planar joints from the origin along each axis
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
    """Positions within the joint limits; without limits, half a turn and half a metre around zero.

    Quaternions are uniform over all rotations; free and planar joints stay within a metre.
    """


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


def by_joint(model: Model, name: str, value: Any) -> Any:
    """Return an argument of a study with labelled arrays in it put into the order of the robot."""
    axis = argument_axis(model, name)
    if not isinstance(value, Normal | Uniform | Choice | Grid | Noise):
        return Alignment([(value, axis, name)]).values[0]
    parts = [x.name for x in fields(value) if x.name != "hold"]
    labelled = [
        (
            getattr(value, part),
            dof_axis(model) if part == "std" and name in POSITIONS else axis,
            f"{part} of {name}",
        )
        for part in parts
    ]
    return replace(value, **dict(zip(parts, Alignment(labelled).values, strict=True)))


def argument_axis(model: Model, name: str) -> Axis | None:
    """Return the names along an argument; None if it has none, or several axes."""
    if name in POSITIONS:
        return coordinate_axis(model)
    if name in RATES:
        return dof_axis(model)
    return link_axis(model) if name == "mass" else None


def argument_columns(model: Model, name: str) -> list[str]:
    """Column names of an argument in the order of its entries: `q:elbow`, `F_ext.fz:tool`."""
    if name in POSITIONS:
        return [f"{name}:{x}" for x in model.coordinate_names]
    if name in RATES:
        return [f"{name}:{x}" for x in model.dof_names]
    if name == "gravity":
        return [f"gravity:{x}" for x in AXES]
    parts = [f".{x}" if x else "" for x in PARTS[name]]
    return [f"{name}{part}:{owner}" for owner in owners(model, name) for part in parts]


class Arguments:
    """The arguments of a study by name, for any samples.

    values, parameters: arguments of a quantity and data of the robot, as the user gave them.
    shapes: of one value of each of `values`. repeats: samples at every point of the grids.
    """

    def __init__(
        self,
        model: Model,
        seed: int,
        repeats: int,
        values: Mapping[str, ArrayLike | Draw],
        shapes: Mapping[str, tuple[int, ...]],
        parameters: Mapping[str, ArrayLike | Draw],
    ) -> None:
        self.model, self.seed, self.repeats = model, seed, repeats
        self.parameters = tuple(port.name for port in free_ports(model, tuple(parameters)))
        self.own = {name: free_values(model, name) for name in self.parameters}
        self.shapes = {**shapes, **{name: x.shape for name, x in self.own.items()}}
        everything = {**values, **parameters}
        self.values = {name: self._checked(name, value) for name, value in everything.items()}
        for name in POSITIVE & set(self.values):
            _check_positive(name, self.values[name])
        for name in self.parameters:
            value = self.values[name]
            if isinstance(value, np.ndarray | Choice | Grid):  # simulate checks the others
                check_free(model, name, np.asarray(getattr(value, "values", value), float))
        for name in set(POSITIONS) & set(self.values):
            _check_quaternions(model, name, self.values[name])
        self.grids = {
            name: len(np.asarray(x.values))
            for name, x in self.values.items()
            if isinstance(x, Grid)
        }
        self._move: Kernel | None = None

    @property
    def points(self) -> int:
        """Number of points of all grids combined."""
        return math.prod(self.grids.values())

    @property
    def drawn(self) -> list[str]:
        """Names of the arguments that differ between samples."""
        return [name for name, value in self.values.items() if isinstance(value, Draw)]

    @property
    def columns(self) -> list[str]:
        """Column names of the arguments that differ between samples."""
        return [x for name in self.drawn for x in argument_columns(self.model, name)]

    def __call__(self, name: str, samples: Array) -> Array:
        """Values of an argument, (S, *shape), of the samples with these numbers, (S,)."""
        value, shape, S = self.values[name], self.shapes[name], len(samples)
        count = math.prod(shape)
        match value:
            case Normal() if name in POSITIONS:
                return self._moved(name, value, samples)
            case Normal(mean, std):
                z = normals(self.seed, name, samples, count).reshape(S, *shape)
                return np.asarray(mean) + np.asarray(std) * z
            case Uniform(low, high):
                low, high = np.asarray(low), np.asarray(high)
                u = uniforms(self.seed, name, samples, count).reshape(S, *shape)
                return low + (high - low) * u
            case Choice(values):
                values = np.asarray(values)
                word = words(self.seed, name, samples, 1)[:, 0]
                return values[(word % np.uint64(len(values))).astype(int)]
            case Grid(values):
                return np.asarray(values)[self._point(name, samples)]
            case Anywhere():
                return anywhere(self.model, self.seed, name, samples)
            case Spread(share):
                return self._spread(name, share, samples)
            case _:
                return np.broadcast_to(value, (S, *shape))

    def _point(self, name: str, samples: Array) -> Array:
        """Index into the values of one grid for each sample."""
        point = np.unravel_index(samples // self.repeats, tuple(self.grids.values()))
        return point[list(self.grids).index(name)]

    def _spread(self, name: str, share: float, samples: Array) -> Array:
        """Data times one factor for each link, or one for gravity."""
        data = self.own[name]
        lead = () if name == "gravity" else data.shape[:1]
        u = uniforms(self.seed, name, samples, math.prod(lead))
        u = u.reshape(len(samples), *lead, *(1,) * (data.ndim - len(lead)))
        return data * (1 + share * (2 * u - 1))

    def _moved(self, name: str, value: Normal, samples: Array) -> Array:
        """Positions moved from the mean along random tangent vectors."""
        model, mean = self.model, np.asarray(value.mean)
        v = np.asarray(value.std) * normals(self.seed, name, samples, model.n)
        if model.nq == model.n:
            return mean + v
        if self._move is None:
            ports = [Port("q", (model.nq,)), Port("v", (model.n,))]
            graph = optimise(trace(partial(integrate, model), ports, [("moved", ())]))
            self._move = Kernel(graph, "move", dtypes=("float64",))
        return self._move(np.broadcast_to(mean, (len(samples), model.nq)), v)

    def _checked(self, name: str, value: ArrayLike | Draw) -> Array | Draw:
        """The argument with arrays of the right shapes in it."""
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
            case Anywhere():
                if name not in POSITIONS:
                    raise InputError(f"{where} is Anywhere(), which is for positions; use Uniform.")
                return value
            case Spread():
                if name not in self.own:
                    raise InputError(f"{where} is a Spread, which is only for data of the robot.")
                if not 0 <= value.share < 1:
                    raise InputError(f"share of {where} is {value.share}; expected 0 <= share < 1.")
                return value
            case _:
                return _array(value, shape, where)


def anywhere(model: Model, seed: int, stream: str, samples: Array) -> Array:
    """Random positions (S, nq) within the limits, quaternions uniform over all rotations."""
    u = uniforms(seed, stream, samples, model.nq)
    low, high = (np.array(x) for x in zip(*_ranges(model), strict=True))
    q = low + (high - low) * u
    for joint in model.joints:
        if joint.follows is None and joint.type in (SPHERICAL, FREE):
            x = normals(seed, f"{stream}, turn of {joint.name}", samples, 4)
            squares = x * x  # added one by one: the order of a sum is part of its bits
            length = np.sqrt(squares[:, 0] + squares[:, 1] + squares[:, 2] + squares[:, 3])
            q[:, list(joint.coords[:4])] = x / length[:, None]
    return q


def _ranges(model: Model) -> list[tuple[float, float]]:
    """Lowest and highest value of every coordinate; zeros for quaternions."""
    ranges: list[tuple[float, float]] = []
    for joint in model.joints:
        if joint.follows is not None:
            continue
        if len(joint.coords) == 1:
            ranges.append(_limits(joint))
        else:
            turns = [(-np.pi, np.pi)] if joint.type == PLANAR else [(0.0, 0.0)] * 4
            ranges += turns + [(-REACH_M, REACH_M)] * (len(joint.coords) - len(turns))
    return ranges


def _limits(joint: Joint) -> tuple[float, float]:
    """The limits of a joint; if one is missing, the reach beyond zero or beyond the other."""
    reach = 0.5 if joint.type == PRISMATIC else np.pi
    low, high = joint.limits.lower, joint.limits.upper
    low = low if np.isfinite(low) else min(-reach, high - reach)
    high = high if np.isfinite(high) else max(reach, low + reach)
    return float(low), float(high)


def _extremes(value: Array | Draw, spread: float) -> Array | None:
    """Numbers that must be legal: the lowest, or a normal mean less `spread` standard deviations.

    None for what is drawn from the robot's own data.
    """
    match value:
        case Uniform(low):
            return np.asarray(low)
        case Choice(values) | Grid(values):
            return np.asarray(values)
        case Normal(mean, std):
            return np.asarray(mean) - spread * np.asarray(std) if spread else np.asarray(mean)
        case Anywhere() | Spread():
            return None
        case _:
            return value


def _check_positive(name: str, value: Array | Draw) -> None:
    """Refuse data below zero that cannot be negative."""
    lowest = _extremes(value, POSITIVE_DEVIATIONS)
    if lowest is not None and np.min(lowest) < 0:
        raise InputError(f"{name} of the study reaches {np.min(lowest):g}; expected 0 or more.")


def _check_quaternions(model: Model, name: str, value: Array | Draw) -> None:
    """Refuse quaternions that are not of length 1, or whose entries are drawn one by one."""
    if isinstance(value, Uniform) and model.nq != model.n and np.any(value.low != value.high):
        raise InputError(
            f"{name} of the study is Uniform, but {model.name!r} has quaternions, whose "
            "numbers are not drawn one by one; use Normal, Choice or Anywhere."
        )
    positions = _extremes(value, 0)
    if positions is not None:
        label = f"the mean of {name}" if isinstance(value, Normal) else name
        check_quaternions(model, positions, label)


def _array(value: ArrayLike, shape: tuple[int, ...], where: str) -> Array:
    """`value` broadcast to `shape`: a number, or an array of the shape or of its last axes."""
    try:
        x = np.asarray(value, float)
    except (TypeError, ValueError):
        raise InputError(f"{where} is {value!r}; expected numbers.") from None
    if x.shape != shape[len(shape) - x.ndim :] or x.ndim > len(shape):
        raise ShapeError(f"{where} has shape {x.shape}; expected a number or shape {shape}.")
    if not np.isfinite(x).all():
        raise InputError(f"{where} is {x.tolist()}; expected finite numbers.")
    return np.broadcast_to(x, shape)
