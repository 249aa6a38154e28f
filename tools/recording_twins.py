"""Recordings of random robots whose truth is known, and the ways in which recordings go wrong.

`record(seed, kind, seconds, rate)` draws a robot and a motion (`random_machines`), sensors and
their noise, and applies a disturbance that `identify` corrects (DISTURBANCES; "clean": none; the
name of a family: a mechanism of `random_mechanisms` instead) or one that it cannot correct
(CORRUPTIONS). kinetree sees the robot as described, with masses wrong by up to 40 % and no
friction, and the signals.
"""

import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from random_machines import Body, Machine, Motion, random_machine, rotation
from random_mechanisms import FAMILIES, Mechanism, random_mechanism

import kinetree as kt
from kinetree.core.arrays import Array

STICKING_STEP = 1e-3  # longest step of the simulation of sticking joints, s
SERVO = 2 * np.pi * 8  # bandwidth of the servo that holds them, rad/s


@dataclass(frozen=True, eq=False)
class Signals:
    """One experiment, before and after its corruption.

    machine, motion: what moved. t: true times of the samples. stamps: times in the recording.
    q, dq, ddq: true motion at `t`, (T, n). friction, tau: true forces, (T, n). zero: added to q.
    noise, encoder: standard deviations of the sensors, (n,); encoder is also the quantum of q.
    truths: machines that are a right answer. ranges: values between two truths are right as well.
    joints: those that the corruption concerns. limit: at which readings of tau are clipped.
    offset: of the sensors of tau, (n,). wild: share of tau that is off by up to 50 times the noise.
    colour: coefficient of the autoregression of the noise of tau. tone: amplitude of an
    oscillation of the encoders at 0.36 of the rate, over their quantum. order_q, order_tau: columns
    of the sensors in the recording.
    """

    machine: Any  # a Machine, or a Mechanism
    motion: Motion
    t: Array
    stamps: Array
    q: Array
    dq: Array
    ddq: Array
    friction: Array
    tau: Array
    noise: Array
    encoder: Array
    truths: tuple[Any, ...]
    ranges: bool = False
    joints: tuple[int, ...] = ()
    zero: Array | float = 0.0
    limit: Array | float = np.inf
    offset: Array | float = 0.0
    wild: float = 0.0
    colour: float = 0.0
    tone: float = 0.0
    order_q: tuple[int, ...] | None = None
    order_tau: tuple[int, ...] | None = None

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints that the corruption concerns."""
        return tuple(f"joint{i + 1}" for i in self.joints)


def clean_signals(rng: np.random.Generator, seconds: float, rate: float) -> Signals:
    """A perfect motion of a random robot, with sensors of usual quality."""
    machine, motion = random_machine(rng)
    t = np.arange(round(seconds * rate)) / rate
    q, dq, ddq = motion.at(t)
    friction = machine.friction(dq)
    tau = machine.rigid_forces(q, dq, ddq) + friction
    noise, encoder = sensors(rng, machine, tau)
    return Signals(machine, motion, t, t, q, dq, ddq, friction, tau, noise, encoder, (machine,))


def sensors(
    rng: np.random.Generator, machine: Machine | Mechanism, tau: Array
) -> tuple[Array, Array]:
    """Standard deviations of the noise of forces and of positions, (n,) each."""
    noise = rng.uniform(0.005, 0.02, machine.n) * np.sqrt((tau**2).mean(axis=0))
    turns = 2 * np.pi / 2.0 ** rng.integers(17, 21, machine.n)
    return noise, np.where(machine.slides, 1e-6, turns)


Corruption = Callable[[Signals, np.random.Generator], Signals]


def slow_clock(factor: float) -> Corruption:
    """The recorder's clock counts `factor` seconds for each true one."""
    return lambda x, rng: replace(x, stamps=factor * x.t)


def jittery_clock(x: Signals, rng: np.random.Generator) -> Signals:
    """Samples are up to a step from the even times at which they are stamped."""
    step = x.t[1] - x.t[0]
    t = x.t + np.clip(rng.normal(size=len(x.t)) * rng.uniform(0.2, 0.5), -1, 1) * step
    return replace(at_times(x, t), stamps=x.t)


def at_times(x: Signals, t: Array) -> Signals:
    """The same experiment, sampled at other times."""
    q, dq, ddq = x.motion.at(t)
    friction = x.machine.friction(dq)
    tau = x.machine.rigid_forces(q, dq, ddq) + friction
    return replace(x, t=t, q=q, dq=dq, ddq=ddq, friction=friction, tau=tau)


def encoder_zero(angle: float) -> Corruption:
    """The encoder of one joint has its zero off by an angle, or a tenth of it in m.

    Where no force depends on the zero, the robot as the encoder sees it is a right answer as well.
    """

    def corrupt(x: Signals, rng: np.random.Generator) -> Signals:
        k = int(rng.integers(x.machine.n))
        size = float(angle * (0.1 if x.machine.slides[k] else 1) * rng.choice([-1, 1]))
        seen = as_encoder_sees(x.machine, k, size)
        truths = (x.machine,) if seen is None else (x.machine, seen)
        return replace(x, zero=size * np.eye(x.machine.n)[k], joints=(k,), truths=truths)

    return corrupt


def as_encoder_sees(machine: Machine, k: int, size: float) -> Machine | None:
    """The machine that has the same forces with the zero of joint k off by `size`, or None.

    It exists if no joint follows, or only joints on the same axis (of the same direction, if joint
    k is prismatic): the bodies after joint k are turned or moved back.
    """
    z, slide = machine.axis[k], machine.slides[k]
    R = rotation(z, np.array([-size]))[0]
    bodies, moved = list(machine.bodies), {k}
    for i in range(k, machine.n):
        if i != k and machine.parent[i] not in moved:
            continue
        parallel = np.abs(np.cross(machine.axis[i], z)).max() < 1e-12
        on_axis = np.abs(np.cross(machine.at[i], z)).max() < 1e-12
        if i != k and not (parallel and (slide or on_axis)):
            return None
        moved.add(i)
        x = bodies[i]
        if slide:
            bodies[i] = Body(x.m, x.com - size * z, x.I_com)
        else:
            bodies[i] = Body(x.m, R @ x.com, R @ x.I_com @ R.T)
    return replace(machine, bodies=bodies)


def compensated_gravity(x: Signals, rng: np.random.Generator) -> Signals:
    """The torques are those that a controller adds to its compensation of gravity."""
    return replace(x, tau=x.tau - x.machine.gravity_forces(x.q))


def overcompensated_friction(x: Signals, rng: np.random.Generator) -> Signals:
    """The drives of some joints add 1.2 to 1.7 times the friction and do not report it."""
    chosen = some_joints(x, rng, 0.5)
    share = chosen * rng.uniform(1.2, 1.7, x.machine.n)
    return replace(x, tau=x.tau - share * x.friction, joints=indices(chosen))


def sticking_wrists(x: Signals, rng: np.random.Generator) -> Signals:
    """A servo holds the last joints while the others move: they stick, slip a little, stick.

    Their Coulomb friction is 0.5 to 1.5 times the largest load, the servo's reference moves by 0.5
    to 20 mrad. With W these joints and u the servo, M_WW ddq_W + load = u - friction with friction
    in coulomb * Sgn(dq_W), a set at rest. Steps are implicit in u and friction, so that a joint at
    rest is at rest exactly; the load is that at the held position. The joint forces recorded are
    those of the motion and the friction found.
    """
    n = x.machine.n
    W = list(range(n - (1 if n < 5 else 2), n))
    step = x.t[1] - x.t[0]
    count = int(np.ceil(step / STICKING_STEP - 1e-9))
    h = step / count
    t = np.arange(len(x.t) * count) * h
    q, dq, ddq = x.motion.at(t)
    held = x.motion.middle[W]
    q[:, W], dq[:, W], ddq[:, W] = held, 0, 0
    load = x.machine.rigid_forces(q, dq, ddq)[:, W]
    unit = np.eye(n)
    columns = [x.machine.rigid_forces(q, 0 * q, unit[[k] * len(t)], np.zeros(3))[:, W] for k in W]
    M = np.stack(columns, axis=2)
    coulomb = x.machine.coulomb.copy()
    coulomb[W] = rng.uniform(0.5, 1.5, len(W)) * np.abs(load).max(axis=0)
    machine = replace(x.machine, coulomb=coulomb)
    size = 10 ** rng.uniform(-3.3, -1.7, len(W)) * np.where(np.array(machine.slides)[W], 0.2, 1)
    wanted = held + size * np.sin(2 * np.pi * rng.uniform(0.2, 0.6, len(W)) * t[:, None])
    q[:, W], dq[:, W], ddq[:, W], friction = stick_and_slip(
        M, load, wanted, coulomb[W], machine.viscous[W], h
    )
    some = slice(count - 1, None, count)
    q, dq, ddq = q[some], dq[some], ddq[some]
    total = machine.friction(dq)
    total[:, W] = machine.viscous[W] * dq[:, W] + friction[some]
    tau = machine.rigid_forces(q, dq, ddq) + total
    return replace(
        x, machine=machine, truths=(machine,), t=t[some], stamps=t[some], q=q, dq=dq, ddq=ddq,
        friction=total, tau=tau, joints=tuple(W),
    )  # fmt: skip


def stick_and_slip(
    M: Array, load: Array, wanted: Array, coulomb: Array, viscous: Array, h: float
) -> tuple[Array, Array, Array, Array]:
    """Positions, rates, accelerations and Coulomb friction, (T, k), of joints held by a servo.

    Args:
        M: mass matrix at each step, shape (T, k, k).
        load: joint forces that the held joints need, shape (T, k).
        wanted: reference of the servo, shape (T, k), rad or m.
        coulomb: Coulomb friction, (k,).
        viscous: viscous friction, (k,).
        h: step, s.
    """
    mean = np.diagonal(M, axis1=1, axis2=2).mean(axis=0)
    stiffness, damping = mean * SERVO**2, mean * 2 * 0.7 * SERVO  # 8 Hz, damping ratio 0.7
    A = M / h + np.diag(damping + h * stiffness + viscous)
    rows, inner = A.tolist(), range(len(mean))
    position, speed = wanted[0].copy(), np.zeros(len(mean))
    steps: list[tuple[Array, Array, Array, Array]] = []
    for k in range(len(M)):
        b = (M[k] @ speed / h - load[k] + stiffness * (wanted[k] - position)).tolist()
        new, force, change = speed.tolist(), [0.0 for _ in inner], 1.0
        while change > 1e-12:  # coordinate by coordinate: a convex problem
            change = 0.0
            for i in inner:
                push = b[i] - sum(rows[k][i][j] * new[j] for j in inner if j != i)
                force[i] = min(max(push, -coulomb[i]), coulomb[i])
                after = (push - force[i]) / rows[k][i][i]
                change, new[i] = max(change, abs(after - new[i])), after
        position = position + h * np.array(new)
        steps.append((position, np.array(new), (np.array(new) - speed) / h, np.array(force)))
        speed = np.array(new)
    q, dq, ddq, friction = (np.array(x) for x in zip(*steps, strict=True))
    return q, dq, ddq, friction


def coupled_wrist(x: Signals, rng: np.random.Generator) -> Signals:
    """The motor of the last joint but one also drives the last: its friction has both rates."""
    a, b = x.machine.n - 2, x.machine.n - 1
    size = rng.uniform(0.2, 0.5) * np.sqrt((x.tau[:, a] ** 2).mean())
    rate = x.dq[:, b] / np.sqrt((x.dq[:, b] ** 2).mean())
    extra = np.zeros_like(x.tau)
    extra[:, a] = size * (np.sign(rate) + rate) / 2
    return replace(x, tau=x.tau + extra, friction=x.friction + extra, joints=(a, b))


def saturated_torque(x: Signals, rng: np.random.Generator) -> Signals:
    """Readings of tau of some joints end at a limit that 3 to 15 % of the samples exceed."""
    chosen = some_joints(x, rng, 0.3)
    share = rng.uniform(0.03, 0.15, x.machine.n)
    levels = [np.quantile(np.abs(tau), 1 - s) for tau, s in zip(x.tau.T, share, strict=True)]
    return replace(x, limit=np.where(chosen, levels, np.inf), joints=indices(chosen))


def swapped_channels(x: Signals, rng: np.random.Generator) -> Signals:
    """Two joints of the same kind have each other's column of tau, or of q."""
    kinds = np.array(x.machine.slides)
    pairs = [(i, j) for i in range(len(kinds)) for j in range(i) if kinds[i] == kinds[j]]
    i, j = pairs[int(rng.integers(len(pairs)))]
    order = list(range(len(kinds)))
    order[i], order[j] = j, i
    side = "order_q" if rng.random() < 0.5 else "order_tau"
    return replace(x, joints=(j, i), **{side: tuple(order)})


def wrong_gear(x: Signals, rng: np.random.Generator) -> Signals:
    """The torque of one joint has 0.5 to 0.9 or 1.1 to 2 times its value."""
    k = int(rng.integers(x.machine.n))
    gain = np.exp(rng.uniform(np.log(1.1), np.log(2)) * rng.choice([-1, 1]))
    return replace(x, tau=x.tau * np.where(np.arange(x.machine.n) == k, gain, 1), joints=(k,))


def tool_halfway(x: Signals, rng: np.random.Generator) -> Signals:
    """From the middle on, the last link carries 20 to 60 % of its mass more."""
    bodies = list(x.machine.bodies)
    m = rng.uniform(0.2, 0.6) * bodies[-1].m
    place = bodies[-1].com + rng.uniform(0.05, 0.15) * np.eye(3)[int(rng.integers(3))]
    bodies[-1] = bodies[-1].joined(Body(m, place, 1e-3 * m * np.eye(3)))
    loaded = replace(x.machine, bodies=bodies)
    late = (x.t > x.t.mean())[:, None]
    tau = np.where(late, loaded.rigid_forces(x.q, x.dq, x.ddq) + x.friction, x.tau)
    return replace(x, tau=tau, truths=(x.machine, loaded), joints=(x.machine.n - 1,))


def warming_friction(x: Signals, rng: np.random.Generator) -> Signals:
    """Viscous friction falls by 25 to 50 % and Coulomb friction by 10 to 25 % as drives warm up."""
    end = x.t[-1]
    way = ((1 - np.exp(-2 * x.t / end)) / (1 - np.exp(-2)))[:, None]
    v, c = 1 - rng.uniform(0.25, 0.5, x.machine.n), 1 - rng.uniform(0.1, 0.25, x.machine.n)
    warm = replace(x.machine, viscous=v * x.machine.viscous, coulomb=c * x.machine.coulomb)
    friction = (1 - way) * x.friction + way * warm.friction(x.dq)
    tau = x.tau + friction - x.friction
    joints = tuple(range(x.machine.n))
    return replace(
        x, tau=tau, friction=friction, truths=(x.machine, warm), ranges=True, joints=joints
    )


def some_joints(x: Signals, rng: np.random.Generator, share: float) -> Array:
    """A random choice of joints, (n,), of one at least."""
    chosen = rng.random(x.machine.n) < share
    chosen[int(rng.integers(x.machine.n))] = True
    return chosen


def indices(chosen: Array) -> tuple[int, ...]:
    """Places of True."""
    return tuple(int(k) for k in np.flatnonzero(chosen))


def late_torques(x: Signals, rng: np.random.Generator) -> Signals:
    """Torques are those of 2 to 25 ms before."""
    return replace(x, tau=at_times(x, x.t - rng.uniform(0.002, 0.025)).tau)


def stribeck_friction(x: Signals, rng: np.random.Generator) -> Signals:
    """Static friction is 1.4 to 2 times Coulomb friction, below a tenth of the peak rates."""
    static = rng.uniform(1.4, 2, x.machine.n) * x.machine.coulomb
    speed = 0.1 * np.abs(x.dq).max(axis=0)
    machine = replace(x.machine, static=static, stribeck_speed=speed)
    return replace(at_times(replace(x, machine=machine), x.t), truths=(machine,))


def torque_offsets(x: Signals, rng: np.random.Generator) -> Signals:
    """Sensors of torques are off by up to half the Coulomb friction.

    Prismatic joints have none: on a vertical axis it is a weight, which no recording distinguishes.
    """
    size = np.where(x.machine.slides, 0, x.machine.coulomb)
    return replace(x, offset=rng.uniform(-0.5, 0.5, x.machine.n) * size)


def coupled_drive(x: Signals, rng: np.random.Generator) -> Signals:
    """One more motor turns with the last two joints, with inertia and friction; it is described."""
    last = [x.machine.n - 2, x.machine.n - 1]
    ratios = np.zeros(x.machine.n)
    ratios[last] = np.where(np.array(x.machine.slides)[last], 5.0, 1.0)  # rad/m of sliding joints
    force = np.sqrt((x.tau[:, last[0]] ** 2).mean()) / ratios[last[0]]
    units = (np.sqrt(((y @ ratios) ** 2).mean()) for y in (x.ddq, x.dq))
    J, v, c = rng.uniform(0.05, 0.3, 3) * force
    motor = J / next(units), v / next(units), c
    machine = replace(x.machine, coupled=ratios, motor=motor)
    return replace(at_times(replace(x, machine=machine), x.t), truths=(machine,))


def mechanism(family: str) -> Corruption:
    """Not that robot, but a mechanism of a family; its motors alone are measured."""

    def instead(x: Signals, rng: np.random.Generator) -> Signals:
        machine, motion = random_mechanism(rng, family)
        tau = machine.forces(x.t, motion.at(x.t))
        q, dq, ddq = motion.at(x.t)
        noise, encoder = sensors(rng, machine, tau)
        return Signals(
            machine, motion, x.t, x.t, q, dq, ddq, 0 * tau, tau, noise, encoder, (machine,)
        )

    return instead


DISTURBANCES: dict[str, Corruption] = {  # that `identify` corrects, or that change nothing
    "clean": lambda x, rng: x,
    "outliers": lambda x, rng: replace(x, wild=0.01),
    "coloured_noise": lambda x, rng: replace(x, colour=0.98),
    "encoder_tone": lambda x, rng: replace(x, tone=2.0),
    "late_torques": late_torques,
    "stribeck_friction": stribeck_friction,
    "coupled_drive": coupled_drive,
    **{family: mechanism(family) for family in FAMILIES},
}
CORRUPTIONS: dict[str, Corruption] = {
    "clock_10_percent_slow": slow_clock(0.9),
    "clock_1000_of_1024": slow_clock(1000 / 1024),
    "clock_jitter": jittery_clock,
    "encoder_zero_0.1": encoder_zero(0.1),
    "encoder_zero_0.01": encoder_zero(0.01),
    "compensated_gravity": compensated_gravity,
    "overcompensated_friction": overcompensated_friction,
    "sticking_wrists": sticking_wrists,
    "coupled_wrist": coupled_wrist,
    "saturated_torque": saturated_torque,
    "swapped_channels": swapped_channels,
    "wrong_gear": wrong_gear,
    "tool_halfway": tool_halfway,
    "warming_friction": warming_friction,
    "torque_offsets": torque_offsets,
}


@dataclass(frozen=True, eq=False)
class Twin:
    """What identification gets (described, t, q, tau), and what it does not see."""

    described: kt.Robot
    t: Array
    q: Array
    tau: Array
    signals: Signals


def record(
    seed: int, kind: str = "clean", seconds: float | None = None, rate: float | None = None
) -> Twin:
    """A recording of the robot of a seed, which moves alike in recordings of all kinds.

    Args:
        seed: the same seed gives the same recording.
        kind: key of DISTURBANCES or CORRUPTIONS.
        seconds: duration; None: 10 to 30 s, by the seed.
        rate: samples a second; None: 100, 250 or 500, by the seed.
    """
    rng = np.random.default_rng((seed, 1))
    seconds = rng.uniform(10, 30) if seconds is None else seconds
    rate = float(rng.choice([100, 250, 500])) if rate is None else rate
    x = clean_signals(np.random.default_rng((seed, 0)), seconds, rate)
    rng = np.random.default_rng((seed, zlib.crc32(kind.encode())))
    wrong = rng.uniform(0.7, 1.4, x.machine.n)
    x = (DISTURBANCES | CORRUPTIONS)[kind](x, rng)
    phase = 0.36 * np.arange(len(x.t))[:, None] + rng.random(x.machine.n)  # turns
    ripple = x.tone * np.sin(2 * np.pi * phase)
    q = (x.q + x.zero) / x.encoder + 0.5 * rng.normal(size=x.q.shape) + ripple
    q = np.round(q) * x.encoder
    error = rng.normal(size=x.tau.shape)
    for k in range(1, len(error) if x.colour else 0):
        error[k] = x.colour * error[k - 1] + np.sqrt(1 - x.colour**2) * error[k]
    error += (rng.random(error.shape) < x.wild) * rng.uniform(-50, 50, error.shape)
    tau = np.clip(x.tau + x.offset + x.noise * error, -x.limit, x.limit)
    q = q if x.order_q is None else q[:, x.order_q]
    tau = tau if x.order_tau is None else tau[:, x.order_tau]
    return Twin(x.machine.robot(wrong, drives=False), x.stamps, q, tau, x)
