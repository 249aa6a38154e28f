"""Payload identification: a body on a frame of a known robot, from one recording."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.options import typed
from kinetree.dynamics.natural_units import natural_units, parameter_units
from kinetree.dynamics.parameters import LINK, ParameterLayout
from kinetree.errors import InputError, SingularityError
from kinetree.identify.band import bands_of, rows_of
from kinetree.identify.base import Base, separable
from kinetree.identify.checks import named
from kinetree.identify.identify import check_joints
from kinetree.identify.least_squares import Fit, Method, fit
from kinetree.identify.loops import check_closed
from kinetree.identify.physical import definite, inside, parameters_of, prior_rows, pseudo_of
from kinetree.identify.recording import Recording
from kinetree.identify.unknowns import in_blocks
from kinetree.model import WORLD
from kinetree.robot import Robot


@dataclass(frozen=True, eq=False)
class Payload:
    """A body at a frame that was found in a recording.

    The body is as compact as the data allow where a motion does not determine it.

    Args:
        m: mass, kg.
        com: centre of mass in the frame, shape (3,), m.
        I_com: inertia about the centre of mass in the axes of the frame, shape (3, 3), kg m^2.
        frame: name of the frame that carries it.
        parameters: m, h and I about the frame's origin, shape (10,), kg, kg m and kg m^2, by least
            squares; NaN if the motion does not determine one.
        standard_error: of `parameters`, shape (10,), kg, kg m and kg m^2.
        condition: condition number of the regressor, dimensionless; large if the motion determines
            the body poorly.
        robot: the robot with the payload.
        unidentified: names of parameters that the motion does not determine.
        warnings: sentences on joint forces that neither robot nor body explain.
    """

    m: float
    com: Array
    I_com: Array
    frame: str
    parameters: Array
    standard_error: Array
    condition: float
    robot: Robot
    unidentified: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def __str__(self) -> str:
        pairs = zip(("hx", "hy", "hz"), self.com.tolist(), strict=True)
        open_ones = ", ".join(self.unidentified)
        centre = ", ".join("not determined" if k in open_ones else f"{x:.4f}" for k, x in pairs)
        known = np.linalg.eigvalsh(self.I_com).tolist() if "I" not in open_ones else []
        moments = ", ".join(f"{x:.3g}" for x in known)
        return (
            f"payload on {self.frame!r}: {self.m:.4f} kg (+- {1.96 * self.standard_error[0]:.2g}), "
            f"centre ({centre}) m"
            + (f", principal moments ({moments}) kg m^2" if moments else "")
            + f"; not determined by the motion: {open_ones}" * bool(open_ones)
            + "".join(f". Warning: {x}" for x in self.warnings)
        )


@typed
def identify_payload(
    robot: Robot, data: Recording, frame: str | None = None, *, method: Method = "robust"
) -> Payload:
    """The body that explains the joint forces which the robot itself does not explain.

    Args:
        robot: without payload, well known; identify it first.
        data: a recording with the payload.
        frame: that carries the body, the tool when None.
        method: as in `identify`.

    Returns:
        The most likely physically possible payload. Its mass and centre can be found from still
        positions; its inertia needs motion.

    Raises:
        InputError: there is no payload, or its mass is negative.
        SingularityError: the motion does not determine its mass.
    """
    model = robot.model
    check_joints(model, data)
    check_closed(robot, data.t, data.q)
    frame = model.frame_name(frame)
    place = model.frame(frame)
    if place.link == WORLD:
        raise InputError(
            f"frame {frame!r} of {model.name!r} does not move; a payload needs a "
            "frame on a moving link."
        )
    # rest = Y x: the forces that the robot alone does not explain are linear in the ten parameters
    # x of the body, whose columns are those of the link that carries it, turned into the frame
    bands = bands_of(data)
    at = ParameterLayout(len(model.links)).link(place.link)
    Y = in_blocks(lambda *x: robot.regressor(*x)[..., at], data.q, data.dq, data.ddq)
    Y = rows_of(bands, Y @ _into_link(place.T_if))
    rest = rows_of(bands, data.tau - robot.inverse_dynamics(data.q, data.dq, data.ddq))
    # the motion may determine combinations beta = K x only; `kept` are the columns that stand for
    # them, and `alone` marks parameters that are such a combination by themselves
    units = natural_units(model)
    scale = parameter_units(model, units)[:10]
    kept, K = separable(Y, units.forces, scale)
    breaks = [band.rows for band in bands]
    found = fit(Y[..., kept], rest, method, breaks=breaks, forces=units.forces)
    alone = [name == "identified" for name in Base(LINK, tuple(kept), K).status()]
    _check_mass(found, alone[0])
    beta, error = np.full(10, np.nan), np.full(10, np.nan)
    beta[kept], error[kept] = found.beta, found.standard_error
    beta[~np.array(alone)] = error[~np.array(alone)] = np.nan
    # the most likely body that can exist, in natural units so that kg and kg m^2 weigh alike
    own = scale[kept]
    weight = np.linalg.inv(found.covariance / np.outer(own, own))
    x = scale * _possible(found.beta / own, weight, K * scale / own[:, None])
    m, com = float(x[0]), x[1:4] / x[0]
    S = pseudo_of(x)[:3, :3] - m * np.outer(com, com)
    I_com = np.trace(S) * np.eye(3) - S
    return Payload(
        m, com, I_com, frame, beta, error, found.condition,
        robot.with_payload(m, com, I_com, frame),
        tuple(name for name, by_itself in zip(LINK, alone, strict=True) if not by_itself),
        tuple(_unexplained(robot, data, found)),
    )  # fmt: skip


def _unexplained(robot: Robot, data: Recording, found: Fit) -> Iterator[str]:
    """A sentence on joints whose force robot and payload do not explain."""
    bands, names = bands_of(data), robot.model.dof_names
    size = np.sqrt((rows_of(bands, data.tau) ** 2).mean(axis=0))
    error = np.sqrt((found.residual**2).mean(axis=0))
    poor = (error > 0.1 * size) & (error > 1.5 * found.innovation)
    if poor.any():
        joints = named(x for x, own in zip(names, poor, strict=True) if own)
        yield (
            f"robot and payload leave up to {(error / np.maximum(size, 1e-300))[poor].max():.0%} "
            f"of the forces of {joints} unexplained: find the robot's friction first, with "
            "`identify`"
        )


def _check_mass(found: Fit, determined: bool) -> None:
    """Refuse a payload without mass, which is the first parameter if it is `determined`."""
    if not determined:
        raise SingularityError(
            "the recording does not separate the mass of the payload from its other parameters; "
            "expected joints that lift it, in several positions or in motion."
        )
    m, error = float(found.beta[0]), float(found.standard_error[0])
    if m < 3 * error:
        raise InputError(
            f"the recording shows no payload: its mass would be {m:.3g} kg with an uncertainty of "
            f"{1.96 * error:.2g} kg. Expected a recording of the robot with the payload. Check the "
            "sign of tau, and that the robot's own parameters are those of the recording."
        )


def _into_link(T_if: Array) -> Array:
    """(10, 10): parameters in the link's frame from those in the frame on it."""
    units = np.eye(len(LINK))
    return np.array([parameters_of(T_if @ pseudo_of(unit) @ T_if.T) for unit in units]).T


def _possible(beta: Array, weight: Array, K: Array) -> Array:
    """The most likely body x given beta = K x and its inverse covariance `weight`.

    It is beta itself if that is a physically possible body. All in the robot's own units.
    """
    flattest = 1e-8  # squared gyration radius, in lengths of the robot
    if len(beta) == 10 and np.linalg.eigvalsh(pseudo_of(beta))[0] > flattest * beta[0]:
        return beta
    guess = np.linalg.lstsq(K, beta, rcond=None)[0]
    m, com = float(guess[0]), guess[1:4] / guess[0]
    S = pseudo_of(guess)[:3, :3] - m * np.outer(com, com)
    J0 = definite(m, com, np.trace(S) * np.eye(3) - S, m)
    P, p = prior_rows(J0)
    root, weak = np.linalg.cholesky(weight).T, 1e-3  # of a prior that keeps it from being flat
    A, b = np.vstack([root @ K, weak * P]), np.concatenate([root @ beta, weak * p])
    return inside(A, b, parameters_of(J0), 1, np.zeros(10, bool))
