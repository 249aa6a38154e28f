"""Drive gains: measured signals per joint force, from recordings with and without a known payload.

Motor currents, or forces in unknown units, are c_j = g_j (Y_j beta + f_j) + noise with a gain g_j
for each joint. Y has the columns of the base parameters beta, which are the same in all recordings;
f are known forces, among them those of a payload that is part of some recordings. Without a payload
gains and beta are known only up to a common factor.

The problem is bilinear; in each round it is linear around the last values (g', beta'),

    c + g' Y beta' = g' Y beta + g (Y beta' + f),

and the start comes from a_j c_j - Y_j beta = f_j with a = 1 / g, which is linear but counts noise
of c as if it were noise of f.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.natural_units import natural_units
from kinetree.errors import InputError, NameLookupError
from kinetree.files.description.joints import SCREW_TYPES
from kinetree.identify.band import in_band
from kinetree.identify.base import find_base, separable
from kinetree.identify.least_squares import Method, fit
from kinetree.identify.loads import Body, KnownLoad, known_loads, load_forces, unloaded
from kinetree.identify.recording import Recording
from kinetree.identify.unknowns import unknowns
from kinetree.model import Joint, Model
from kinetree.robot import Robot

ORIGINS = {
    "payload": "from a known payload",
    "description": "from the description",
    "given": "as given",
}
WAY_OUT = (
    "Record the same kind of motion once without and once with a payload of known mass and centre, "
    "and give the payload with its recording."
)
GAIN_OPEN = 0.3  # relative standard error from which a gain counts as not determined

Origin = Literal["payload", "description", "given"]
GainChoice = bool | Literal["description"] | Mapping[str, float]


@dataclass(frozen=True, eq=False)
class Gains:
    """Measured signal per joint force of each degree of freedom.

    Args:
        joints: name of the joint of each degree of freedom with a gain.
        dofs: their indices.
        values: gains, shape (k,), in units of the recording per N m or N.
        covariance: of the gains, shape (k, k), in squared units of gains.
        origin: "payload", "description" (from its masses, whose errors are no part of the
            covariance) or "given".
    """

    joints: tuple[str, ...]
    dofs: tuple[int, ...]
    values: Array
    covariance: Array
    origin: Origin = "payload"

    @property
    def standard_error(self) -> Array:
        """Standard error of each gain, (k,)."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def table(self) -> dict[str, tuple[float, float]]:
        """Gain and standard error by joint."""
        rows = zip(self.values.tolist(), self.standard_error.tolist(), strict=True)
        return dict(zip(self.joints, rows, strict=True))

    def __str__(self) -> str:
        parts = [f"{x} {g:.4g} (+- {1.96 * e:.2g})" for x, (g, e) in self.table.items()]
        return f"gains of the drives, {ORIGINS[self.origin]}: {', '.join(parts)}"

    def factor(self, n: int) -> Array:
        """Gain of every degree of freedom, (n,); 1 where there is none to find.

        Args:
            n: number of degrees of freedom.
        """
        gains = np.ones(n)
        gains[list(self.dofs)] = self.values
        return gains

    def forces(self, data: Recording) -> Recording:
        """The recording with joint forces in N m or N in place of measured signals.

        Args:
            data: a recording of the same robot and drives.
        """
        tau = data.tau / self.factor(data.tau.shape[1])
        return replace(
            data, tau=tau, notes=(*data.notes, f"{self}; joint forces are divided by them")
        )

    def spread(self, W: Array, tau: Array, weights: Array) -> Array:
        """Covariance of least squares of `forces` that comes from errors of the gains, (r, r).

        It adds to the covariance with known gains, of which it is independent.

        Args:
            W: columns of the fit, shape (rows, n, r), N m or N per unit of each parameter.
            tau: joint forces, shape (rows, n), N m or N.
            weights: of the squares of rows, shape (rows, n), one over squared N m or N.
        """
        rows = (W * weights[..., None]).reshape(-1, W.shape[-1])
        dofs = list(self.dofs)
        across = np.einsum("tkr,tk->rk", (W * weights[..., None])[:, dofs], tau[:, dofs])
        D = -np.linalg.solve(rows.T @ W.reshape(rows.shape), across / self.values)
        return D @ self.covariance @ D.T


def in_forces(
    robot: Robot,
    data: Sequence[Recording],
    payloads: Sequence[Body | None] | None,
    gains: GainChoice,
    cutoff: float | None = None,
    *,
    armature: bool = True,
    springs: bool = True,
    method: Method = "robust",
) -> tuple[list[Recording], Gains | None]:
    """Recordings with joint forces of the robot alone, and the gains by which signals were divided.

    Args:
        robot: as described, without payloads.
        data: the recordings, with measured signals and payloads.
        payloads: one entry for each recording, None if the robot carries nothing; None: no payload.
        gains: False if signals are joint forces; True to find gains from payloads, "description" to
            find them from the masses of the description, or known gains {joint: value}.
        cutoff: of the low-pass of both sides, Hz, as in `bands_of`.
        armature, springs: as in `unknowns`.
        method: kind of least squares.
    """
    loads = known_loads(payloads, len(data))
    drives = None
    if isinstance(gains, Mapping):
        drives = _given_gains(robot.model, gains)
    elif gains == "description":
        drives = described_gains(robot, data, loads, cutoff, method=method)
    elif gains is True:
        drives = find_gains(
            robot, data, loads, cutoff, armature=armature, springs=springs, method=method
        )
    elif gains is not False:
        raise InputError(
            f'gains is {gains!r}; expected True, False, "description" or the gain of each joint.'
        )
    pairs = zip(data, loads, strict=True)
    return [
        unloaded(robot, load, one if drives is None else drives.forces(one)) for one, load in pairs
    ], drives


def _given_gains(model: Model, gains: Mapping[str, float]) -> Gains:
    """Known gains, without an error; 1 for joints that are left out."""
    joints = _driven(model)
    names = [x.name for x in joints]
    for name, value in gains.items():
        if name not in names:
            raise NameLookupError(
                f"gains names the joint {name!r}; {model.name!r} has drives at {', '.join(names)}."
            )
        if not (np.isfinite(value) and value != 0):
            raise InputError(f"the gain of {name!r} is {value}; expected a number other than 0.")
    values = np.array([float(gains.get(x, 1.0)) for x in names])
    return _gains(joints, values, np.zeros(len(names)), "given")


def _gains(joints: Sequence[Joint], values: Array, errors: Array, origin: Origin) -> Gains:
    """Gains of some joints with independent standard errors, (k,)."""
    return Gains(*_names(joints), values, np.diag(errors**2), origin)


def _names(joints: Sequence[Joint]) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Names of joints and their degrees of freedom."""
    return tuple(x.name for x in joints), tuple(x.dofs[0] for x in joints)


def _signals(
    robot: Robot,
    data: Sequence[Recording],
    loads: Sequence[KnownLoad | None],
    cutoff: float | None,
    armature: bool,
    springs: bool,
) -> list[Array]:
    """Rows of base parameters W, (rows, n, r), signals c and known forces f, (rows, n).

    W is in the robot's own units, and has directional friction, which takes up offsets.
    """
    params = unknowns(robot, "directional", armature, springs)
    base = list(find_base(params).kept)
    parts: list[tuple[Array, ...]] = []
    for one, load in zip(data, loads, strict=True):
        state = one.q, one.dq, one.ddq
        known = params.known(*state) + load_forces(robot, load, one)
        W = params.plain(*state)
        W[..., params.at_rest(one.q)] = 0
        parts.append(tuple(in_band(one, x, cutoff) for x in (W[..., base], one.tau, known)))
    W, c, f = (np.concatenate(x) for x in zip(*parts, strict=True))
    scale = params.scale[base]
    separate, _ = separable(W, params.natural.forces, scale)
    return [(W * scale)[..., separate], c, f]


def find_gains(
    robot: Robot,
    data: Sequence[Recording],
    loads: Sequence[KnownLoad | None],
    cutoff: float | None = None,
    *,
    armature: bool = True,
    springs: bool = True,
    method: Method = "robust",
) -> Gains:
    """Gains of all drives with their covariance, by steps of Gauss and Newton.

    Args:
        robot: as described, without payloads.
        data: the recordings.
        loads: payload of each recording.
        cutoff, armature, springs, method: as in `in_forces`.

    Raises:
        InputError: no recording with a payload, none without it, or a joint whose gain the
            recordings do not determine.
    """
    joints = _driven(robot.model)
    _check_loads(loads)
    W, c, f = _signals(robot, data, loads, cutoff, armature, springs)
    dofs, r = [x.dofs[0] for x in joints], W.shape[-1]
    _check_signals(joints, c)
    forces = natural_units(robot.model).forces
    # in units in which signals are as large as forces of the robot
    unit = np.ones(c.shape[1])
    unit[dofs] = np.sqrt((c[:, dofs] ** 2).mean(axis=0)) / forces[dofs]
    c = c / unit

    def by_joint(x: Array) -> Array:
        """Columns, (rows, n, k), with the entries of x at each joint."""
        columns = np.zeros((*c.shape, len(dofs)))
        columns[:, dofs, np.arange(len(dofs))] = x[:, dofs]
        return columns

    solution = fit(np.concatenate([by_joint(c), -W], axis=-1), f, method, forces=forces)
    a, beta = np.split(solution.beta, [len(dofs)])
    g, full = 1 / np.where(np.abs(a) > 1e-6, a, 1e-6), np.ones(c.shape[1])
    for _ in range(50):  # ten are enough
        full[dofs] = g
        y = c + full * (W @ beta)
        rows = np.concatenate([full[:, None] * W, by_joint(W @ beta + f)], axis=-1)
        solution = fit(rows, y, method, forces=forces * np.abs(full))
        step = solution.beta[r:] - g
        share = min(1.0, 0.5 / max(float(np.abs(step / g).max()), 1e-300))  # by half at most
        beta, g = beta + share * (solution.beta[:r] - beta), g + share * step
        if share == 1 and np.all(np.abs(step) < 1e-3 * solution.standard_error[r:]):
            break
    covariance = solution.covariance[r:, r:] * np.outer(unit[dofs], unit[dofs])
    return _determined(Gains(*_names(joints), g * unit[dofs], covariance))


def described_gains(
    robot: Robot,
    data: Sequence[Recording],
    loads: Sequence[KnownLoad | None],
    cutoff: float | None = None,
    *,
    method: Method = "robust",
) -> Gains:
    """Gains with which the described bodies have the measured signals, beside friction and offsets.

    Their standard errors do not have the errors of the description. Arguments as in `find_gains`.
    """
    joints = _driven(robot.model)
    params = unknowns(robot, "directional", armature=False, springs=False)
    bodies = np.where(params.S.any(axis=1), params.S @ params.values(robot.model), params.fixed)
    friction = [k for k, x in enumerate(params.names) if x.startswith(("viscous", "coulomb"))]
    bodies = np.where(params.S[:, friction].any(axis=1), 0, bodies)
    parts: list[tuple[Array, ...]] = []
    for one, load in zip(data, loads, strict=True):
        state = one.q, one.dq, one.ddq
        d = robot.regressor(*state) @ bodies + load_forces(robot, load, one)
        Y = params.plain(*state)[..., friction]
        Y[..., np.isin(friction, params.at_rest(one.q))] = 0
        parts.append(tuple(in_band(one, x, cutoff) for x in (d, one.tau, Y)))
    d, c, Y = (np.concatenate(x) for x in zip(*parts, strict=True))
    _check_signals(joints, c)
    values, errors = np.zeros(len(joints)), np.zeros(len(joints))
    for k, joint in enumerate(joints):
        dof = joint.dofs[0]
        rows = np.concatenate([d[:, dof, None], Y[:, dof, np.any(Y[:, dof] != 0, axis=0)]], axis=1)
        size = float(np.abs(c[:, dof]).max())
        solution = fit(rows[:, None], c[:, dof, None], method, forces=size)
        values[k], errors[k] = solution.beta[0], solution.standard_error[0]
    return _determined(_gains(joints, values, errors, "description"))


def _driven(model: Model) -> list[Joint]:
    """Joints with a measured force of their own, in the order of degrees of freedom."""
    driven = [x for x in model.joints if x.type in SCREW_TYPES and x.follows is None]
    return sorted(driven, key=lambda x: x.dofs[0])


def _check_loads(loads: Sequence[KnownLoad | None]) -> None:
    """Raise InputError unless recordings differ in their payload."""
    if all(x is None for x in loads):
        raise InputError(
            "gains of drives have no absolute scale without a known payload: expected one "
            f"recording with a payload at least, found none. {WAY_OUT} Or take the masses of the "
            'description as the scale: gains "description".'
        )
    if all(_values(x) == _values(loads[0]) for x in loads):
        raise InputError(
            "all recordings have the same payload, which cannot be told from the last link: "
            f"expected one without it, or with another. {WAY_OUT}"
        )


def _values(load: KnownLoad | None) -> tuple[str | None, list[float]] | None:
    """Numbers of a payload, to compare; None without one."""
    if load is None:
        return None
    I_com = np.zeros((3, 3)) if load.I_com is None else load.I_com
    parts = (np.ravel(np.asarray(x, float)) for x in (load.m, load.com, I_com))
    return load.frame, np.concatenate([*parts]).tolist()


def _check_signals(joints: Sequence[Joint], c: Array) -> None:
    """Raise InputError if the signal of a joint is zero throughout."""
    silent = [x.name for x in joints if not np.any(c[:, x.dofs[0]])]
    if silent:
        raise InputError(
            f"the measured signal of {', '.join(silent)} is zero throughout; expected currents or "
            "forces of every joint to find gains of drives."
        )


def _determined(gains: Gains) -> Gains:
    """The gains; InputError if the recordings do not determine one of them."""
    wide = ~(gains.standard_error < GAIN_OPEN * np.abs(gains.values))
    if not wide.any():
        return gains
    rows = zip(gains.table.items(), wide, strict=True)
    names = [f"{x} {g:.3g} (standard error {e:.2g})" for (x, (g, e)), is_wide in rows if is_wide]
    raise InputError(
        f"the recordings do not determine the gains of {', '.join(names)}; expected a standard "
        f"error below {GAIN_OPEN:.0%}. Use a heavier payload with its centre off the "
        "axis of the last joint, and move all joints."
    )
