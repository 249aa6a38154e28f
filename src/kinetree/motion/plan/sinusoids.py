"""Sinusoidal motions: one sine per joint, and Fourier series for identification."""

from collections.abc import Sequence

import numpy as np

from kinetree.core.arrays import Array, StateLike
from kinetree.core.options import typed
from kinetree.errors import InputError
from kinetree.model import HasModel, Model
from kinetree.model.bounds import bounds_of
from kinetree.motion.inputs import check_screws, positive, sample_times
from kinetree.motion.plan.inputs import joint_vector, names_of, planned
from kinetree.motion.trajectory import Trajectory


@typed
def sinusoid(
    center: StateLike,
    amplitude: StateLike,
    frequency: StateLike,
    duration: float,
    dt: float = 0.01,
    *,
    phase: StateLike = 0,
    robot: Model | HasModel | None = None,
    joint_names: Sequence[str] = (),
    name: str = "sinusoid",
) -> Trajectory:
    """q = center + amplitude sin(2 pi frequency t + phase). The motion does not begin at rest.

    Args:
        center: middle position, a number or shape (n,), rad or m.
        amplitude: amplitude, a number or shape (n,), rad or m.
        frequency: frequency, a number or shape (n,), Hz.
        duration: length of the motion, s.
        dt: largest step between samples, s.
        phase: phase at t = 0, a number or shape (n,), rad.
        robot: gives the names of the joints; None: `joint_names`.
        joint_names: names of the joints, where no robot is given.
        name: name of the motion.
    """
    given = {"center": center, "amplitude": amplitude, "frequency": frequency, "phase": phase}
    names = names_of(robot, joint_names, "a sinusoid", **given)
    n = len(names) or max(np.asarray(x).size for x in given.values())
    c, A, f, p = (joint_vector(x, n, name, names) for name, x in given.items())
    t = sample_times(duration, dt)
    w = 2 * np.pi * f
    angle = t[:, None] * w + p
    motion = c + A * np.sin(angle), A * w * np.cos(angle), -A * w * w * np.sin(angle)
    return planned(t, motion, robot, names, name)


@typed
def excitation(
    robot: Model | HasModel,
    duration: float,
    dt: float = 0.01,
    *,
    harmonics: int = 5,
    periods: int = 1,
    use: float = 0.8,
    center: StateLike | None = None,
    reach: float = 1.0,
    seed: int = 0,
    name: str = "excitation",
) -> Trajectory:
    """A Fourier series with random coefficients for each joint, for identification.

        q = center + sum over k of a_k sin(k w t) + b_k cos(k w t),   w = 2 pi periods / duration

    It is periodic, and starts and ends at rest at `center`, without acceleration.

    Args:
        robot: gives the limits of position and speed that bound the amplitudes.
        duration: whole time, s.
        dt: largest step between samples, s.
        harmonics: terms of the series, at least 3.
        periods: number of periods in the duration.
        use: share of the limits to use, dimensionless, above 0 and at most 1.
        center: position to move about, shape (n,), rad or m; None: the middle of the limits (0
            without limits).
        reach: amplitude of joints without limits, rad or m.
        seed: of the random coefficients.
        name: of the trajectory.
    """
    model = check_screws(robot, "an excitation")
    if harmonics < 3 or periods < 1 or not 0 < use <= 1:
        raise InputError(
            f"harmonics is {harmonics}, periods {periods} and use {use}; expected at least 3, at "
            "least 1, and a share of the limits above 0 and at most 1."
        )
    bounds = bounds_of(model)
    middle = _center(bounds.names, bounds.lower, bounds.upper, center)
    room = np.minimum(bounds.upper - middle, middle - bounds.lower)
    if np.any(room <= 0):
        at = bounds.names[int(np.argmin(room))]
        raise InputError(f"center of joint {at!r} leaves no room within its limits.")
    room = np.where(np.isfinite(room), room, positive(reach, "reach", "rad or m"))
    t = sample_times(duration, dt)
    w = 2 * np.pi * periods / t[-1]
    a, b = _coefficients(np.random.default_rng(seed), harmonics, model.n)
    one = np.linspace(0, 2 * np.pi / w, 200 * harmonics)
    q, dq, _ = _series(one, w, a, b)
    # 200 samples per period of the highest harmonic miss a peak by (2 pi / 200)^2 / 8 at most
    largest = 1.0002 * np.abs(q).max(axis=0), 1.0002 * np.abs(dq).max(axis=0)
    scale = use * np.minimum(room / largest[0], bounds.velocity / largest[1])
    q, dq, ddq = _series(t, w, a * scale, b * scale)
    return planned(t, (middle + q, dq, ddq), robot, (), name)


def _center(names: Sequence[str], lower: Array, upper: Array, center: StateLike | None) -> Array:
    """The given center, or the middle of the limits; with one limit, 0 or 1 inside of it."""
    if center is not None:
        return joint_vector(center, len(lower), "center", names)
    both = np.isfinite(lower) & np.isfinite(upper)
    near = np.clip(0.0, np.where(np.isfinite(lower), lower + 1, -np.inf),
                   np.where(np.isfinite(upper), upper - 1, np.inf))  # fmt: skip
    return np.where(both, (np.where(both, lower, 0) + np.where(both, upper, 0)) / 2, near)


def _coefficients(rng: np.random.Generator, harmonics: int, n: int) -> tuple[Array, Array]:
    """Random a and b, (harmonics, n), with q - center, dq and ddq zero at t = 0.

    This requires sum b_k = 0, sum k a_k = 0 and sum k^2 b_k = 0, so random vectors are projected
    onto these conditions.
    """
    k = np.arange(1.0, harmonics + 1)
    a = _without(rng.normal(size=(harmonics, n)) / k[:, None], k[:, None])
    b = _without(
        rng.normal(size=(harmonics, n)) / k[:, None], np.stack([np.ones_like(k), k * k], 1)
    )
    return a, b


def _without(x: Array, directions: Array) -> Array:
    """`x` less its part along the columns of `directions`."""
    basis = np.linalg.qr(directions)[0]
    return x - basis @ (basis.T @ x)


def _series(t: Array, w: float, a: Array, b: Array) -> tuple[Array, Array, Array]:
    """The sum of sines (a) and cosines (b), and its first and second derivative, (T, n) each."""
    k = w * np.arange(1.0, len(a) + 1)
    angle = t[:, None] * k
    s, c = np.sin(angle), np.cos(angle)
    K = k[:, None]
    return s @ a + c @ b, c @ (K * a) - s @ (K * b), -s @ (K * K * a) - c @ (K * K * b)
