"""Drive gains: measured signals per joint force, from known payloads or described masses.

Motor currents, or forces in unknown units, are c_j = g_j (Y_j beta + f_j) + noise with a gain g_j
for each joint. Y has the columns of unknown parameters beta, which are the same in all recordings;
f are known forces. With payloads, beta are base parameters and f the forces of the payloads:
without one, gains and beta are known only up to a common factor. With a trusted description, beta
are friction and offsets, and f the forces of the described bodies.

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
from kinetree.identify.loads import Body, known_loads, load_forces, unloaded
from kinetree.identify.recording import Recording
from kinetree.identify.unknowns import unknowns
from kinetree.model import Joint
from kinetree.robot import Robot

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
        words = {"payload": "from a known payload", "description": "from the description"}
        parts = [f"{x} {g:.4g} (+- {1.96 * e:.2g})" for x, (g, e) in self.table.items()]
        return f"gains of the drives, {words.get(self.origin, 'as given')}: {', '.join(parts)}"

    def forces(self, data: Recording) -> Recording:
        """The recording with joint forces in N m or N in place of measured signals.

        Args:
            data: a recording of the same robot and drives.
        """
        gains = np.ones(data.tau.shape[1])
        gains[list(self.dofs)] = self.values
        return replace(data, tau=data.tau / gains).noted(
            f"{self}; joint forces are divided by them"
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
    if gains is not False:
        driven = [x for x in robot.model.joints if x.type in SCREW_TYPES and x.follows is None]
        driven.sort(key=lambda x: x.dofs[0])
        if isinstance(gains, Mapping):
            drives = _given_gains(driven, gains)
        else:
            origin: Origin = "description" if gains == "description" else "payload"
            signals = _signals(robot, data, loads, origin, cutoff, armature, springs)
            drives = _found_gains(robot, driven, origin, signals, method)
    pairs = zip(data, loads, strict=True)
    return [
        unloaded(robot, load, one if drives is None else drives.forces(one)) for one, load in pairs
    ], drives


def _given_gains(driven: list[Joint], gains: Mapping[str, float]) -> Gains:
    """Known gains, without an error; 1 for joints that are left out."""
    names = [x.name for x in driven]
    for name, value in gains.items():
        if name not in names:
            raise NameLookupError(
                f"gains names the joint {name!r}; there are drives at {', '.join(names)}."
            )
        if not (np.isfinite(value) and value != 0):
            raise InputError(f"the gain of {name!r} is {value}; expected a number other than 0.")
    values = np.array([float(gains.get(x, 1.0)) for x in names])
    dofs, none = tuple(x.dofs[0] for x in driven), np.zeros((len(names), len(names)))
    return Gains(tuple(names), dofs, values, none, "given")


def _signals(
    robot: Robot,
    data: Sequence[Recording],
    loads: Sequence[Body | None],
    origin: Origin,
    cutoff: float | None,
    armature: bool,
    springs: bool,
) -> list[Array]:
    """Rows Y, (rows, n, r), in the robot's own units, signals c and known forces f, (rows, n).

    Friction is directional, which takes up offsets.
    """
    if origin == "payload" and len({str(x) for x in loads}) < 2:
        raise InputError(
            "gains of drives have no absolute scale without a known payload: expected recordings "
            "that differ in their payload, found none. Record the same kind of motion once without "
            "and once with a payload of known mass and centre, and give it with its recording. Or "
            'take the masses of the description as the scale: gains "description".'
        )
    params, parts = unknowns(robot, "directional", armature, springs), list[list[Array]]()
    columns = [k for k, x in enumerate(params.names) if x.startswith(("viscous", "coulomb"))]
    if origin == "payload":
        columns = list(find_base(params).kept)
    for one, load in zip(data, loads, strict=True):
        state = one.q, one.dq, one.ddq
        known = params.known(*state)
        if origin == "description":
            known = robot.inverse_dynamics(*state) - robot.friction_forces(one.dq)
        Y = params.plain(*state)
        Y[..., params.at_rest(one.q)] = 0
        known = known + load_forces(robot, load, one)
        parts.append([in_band(one, x, cutoff) for x in (Y[..., columns], one.tau, known)])
    Y, c, f = (np.concatenate(x) for x in zip(*parts, strict=True))
    scale = params.scale[columns]
    separate, _ = separable(Y, params.natural.forces, scale)
    return [(Y * scale)[..., separate], c, f]


def _found_gains(
    robot: Robot, driven: list[Joint], origin: Origin, signals: list[Array], method: Method
) -> Gains:
    """Gains of all drives with their covariance, by steps of Gauss and Newton."""
    Y, c, f = signals
    dofs, r = [x.dofs[0] for x in driven], Y.shape[-1]
    if silent := [x.name for x in driven if not np.any(c[:, x.dofs[0]])]:
        raise InputError(
            f"the measured signal of {', '.join(silent)} is zero throughout; expected currents or "
            "forces of every joint to find gains of drives."
        )
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

    solution = fit(np.concatenate([by_joint(c), -Y], axis=-1), f, method, forces=forces)
    a, beta = np.split(solution.beta, [len(dofs)])
    g, full = 1 / np.where(np.abs(a) > 1e-6, a, 1e-6), np.ones(c.shape[1])
    for _ in range(50):  # ten are enough
        full[dofs] = g
        y = c + full * (Y @ beta)
        rows = np.concatenate([full[:, None] * Y, by_joint(Y @ beta + f)], axis=-1)
        solution = fit(rows, y, method, forces=forces * np.abs(full))
        step = solution.beta[r:] - g
        share = min(1.0, 0.5 / max(float(np.abs(step / g).max()), 1e-300))  # by half at most
        beta, g = beta + share * (solution.beta[:r] - beta), g + share * step
        if share == 1 and np.all(np.abs(step) < 1e-3 * solution.standard_error[r:]):
            break
    values, covariance = (
        g * unit[dofs],
        solution.covariance[r:, r:] * np.outer(unit[dofs], unit[dofs]),
    )
    found = Gains(tuple(x.name for x in driven), tuple(dofs), values, covariance, origin)
    if wide := [f"{x} {g:.3g}" for x, (g, e) in found.table.items() if not e < 0.3 * abs(g)]:
        raise InputError(
            f"the recordings do not determine the gains of {', '.join(wide)}; expected a standard "
            "error below 30%. Use a heavier payload with its centre off the axis of the last "
            "joint, and move all joints."
        )
    return found
