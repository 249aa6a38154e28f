"""Base parameters and identification: exact ranks, forces reproduced in any units, noise level."""

import dataclasses
import re
from typing import Any

import mechanisms as mc
import numpy as np
from attack_case import law, note

import kinetree as kt

UNITS = [(1e3, 1e3, 1e3), (1e-6, 1e6, 1.0), (1e6, 1e-6, 1e-3), (1e3, 1.0, 1.0), (1.0, 1.0, 1e3)]
SCREWS = ["revolute", "revolute", "revolute", "prismatic"]


def described(mechanism: mc.Mechanism) -> str:
    """The mechanism in a line, for messages."""
    return "; ".join(
        f"{x.type} on {x.parent}, rotor {x.rotor and x.rotor[1:]}, mimic {x.mimic}"
        for x in mechanism.parts
    )


def law_base_parameters_reproduce_tau(rng: Any) -> None:
    """Y[:, kept] @ values is tau, of an oracle, in any units, at states of any kind."""
    mechanism = mc.random_mechanism(rng)
    length, mass, time = UNITS[int(rng.integers(len(UNITS)))]
    robot = mc.robot_of(mechanism, length, mass, time)
    note(rng, mechanism=described(mechanism), units=(length, mass, time))
    base = robot.base_parameters()
    values = base.values(robot.parameters)
    kept = [base.columns[k] for k in base.kept]
    force = mc.force_units(mechanism, length, mass, time)
    for _ in range(3):
        motion = mc.random_motion(mechanism, rng)
        Y = mc.regressor(mechanism, *motion)
        tau = Y @ mc.parameters(mechanism) * force
        size = np.abs(Y) @ np.abs(mc.parameters(mechanism)) * force
        found = robot.regressor(*mc.in_units(mechanism, motion, length, time))[:, kept] @ values
        off = np.abs(found - tau).max() / size.max()
        assert off < 1e-8, f"base parameters miss {off:.2g} of the terms: {described(mechanism)}"


@law(limit=60)
def law_base_count_is_the_exact_rank(rng: Any) -> None:
    """As many base parameters as the rank of the regressor in 50 digits."""
    import mpmath

    mechanism = mc.random_mechanism(rng, 3)
    robot = mc.robot_of(mechanism)
    note(rng, mechanism=described(mechanism))
    base = robot.base_parameters()
    with mpmath.workdps(50):
        rows: list[Any] = []
        way = np.ones(robot.n)
        while len(rows) < robot.parameters.size + 12:
            q, dq, ddq = mc.random_motion(mechanism, rng)
            dq = np.where(dq * way > 0, dq, -dq)  # every friction acts
            rows += list(mc.regressor(mechanism, q, dq, ddq, exact=True))
            way = -way
        rank = mc.exact_rank(np.array(rows))
    assert base.count == rank, f"{base.count} of rank {rank}: {described(mechanism)}"


def law_base_parameters_scale_with_units(rng: Any) -> None:
    """The same parameters are kept, and their values are the same quantities."""
    mechanism = mc.random_mechanism(rng, types=[*SCREWS, "helical", "spherical"])
    mechanism.parts[0].type = mechanism.parts[0].type.replace("free", "spherical")
    length, mass, time = UNITS[int(rng.integers(len(UNITS)))]
    note(rng, mechanism=described(mechanism), units=(length, mass, time))
    plain, other = mc.robot_of(mechanism), mc.robot_of(mechanism, length, mass, time)
    a, b = plain.base_parameters(), other.base_parameters()
    assert a.kept == b.kept, f"kept differ: {set(a.kept) ^ set(b.kept)}: {described(mechanism)}"
    unit = parameter_units(mechanism, length, mass, time)
    kept = list(a.kept)
    # a coefficient times its column, as a share of the column it stands for
    q, dq, ddq = mc.random_motion(mechanism, rng)
    Y = np.concatenate([mc.regressor(mechanism, q, way * dq, ddq) for way in (1, -1)])
    size = np.linalg.norm(Y, axis=0)
    size[size < 1e-10] = np.inf
    share = (b.K * unit / unit[kept][:, None] - a.K) * size[kept][:, None] / size
    off = np.abs(share).max(initial=0)
    assert off < 1e-7, f"K is {off:.2g} off in other units: {described(mechanism)}"


def parameter_units(mechanism: mc.Mechanism, length: float, mass: float, time: float) -> Any:
    """What one SI unit of each parameter is in other units, in the order of pi."""
    found = []
    for _ in mechanism.parts:
        found += [mass, *[mass * length] * 3, *[mass * length**2] * 6]
    for x in mechanism.parts:
        force = mass * length / time**2 * (1 if x.type == "prismatic" else length)
        rate = (length if x.type == "prismatic" else 1) / time
        found += [force / rate] * 2 + [force] * 2 + [force * time / rate]
    found += [mass * length**2 for x in mechanism.parts if x.rotor is not None]
    return np.array(found)


def law_names_and_order_change_no_base(rng: Any) -> None:
    """Links handed over in another order, under other names, have the same base parameters."""
    mechanism = mc.random_mechanism(rng, 3)
    count = len(mechanism.parts)
    note(rng, mechanism=described(mechanism))
    order = [int(k) for k in rng.permutation(count)]
    names = [f"{'zyxw'[int(rng.integers(4))]}{k}" for k in range(count)]
    plain = mc.robot_of(mechanism)
    other = mc.robot_of(mechanism, order=order, names=names)
    a, b = plain.base_parameters(), other.base_parameters()
    assert a.count == b.count, f"{a.count} or {b.count}: {described(mechanism)}"
    renamed = {f"link{k}": names[k] for k in range(count)}
    silent = {_renamed(str(p), renamed) for p in a.without_effect}
    found = {str(p) for p in b.without_effect}
    assert silent == found, f"without effect differ, {silent ^ found}: {described(mechanism)}"


def _renamed(text: str, names: dict[str, str]) -> str:
    kind, owner = text[:-1].split("[")
    own = names[owner.removeprefix("j_")]
    return f"{kind}[{'j_' if owner.startswith('j_') else ''}{own}]"


def _experiment(rng: Any, most: int = 3) -> tuple[mc.Mechanism, Any, Any, Any]:
    """A mechanism with symmetric friction, its motion of sines, joint forces, their noise."""
    mechanism = mc.random_mechanism(rng, most, types=SCREWS)
    for x in mechanism.parts:
        x.type = "revolute" if x.type == "free" else x.type
        x.mimic, x.rotor = None, x.rotor if rng.random() < 0.3 else None
        x.viscous, x.coulomb = (x.viscous[0],) * 2, (x.coulomb[0],) * 2
    t = np.linspace(0, 6.0, 151)
    n = mechanism.n
    f, phase = rng.uniform(0.3, 1.2, (3, n)), rng.uniform(0, 6, (3, n))
    size = rng.uniform(0.3, 0.7, (3, n)) * [
        0.2 if x.type == "prismatic" else 1 for x in mechanism.parts
    ]
    w = 2 * np.pi * f
    angle = w * t[:, None, None] + phase
    q = (size * np.sin(angle)).sum(axis=1)
    dq, ddq = (size * w * np.cos(angle)).sum(axis=1), (-size * w * w * np.sin(angle)).sum(axis=1)
    pi = mc.parameters(mechanism)
    tau = np.array([mc.regressor(mechanism, *x) @ pi for x in zip(q, dq, ddq, strict=True)])
    noise = 0.02 * np.sqrt((tau**2).mean(axis=0)) + 1e-3
    return mechanism, t, (q, dq, ddq), (tau + noise * rng.normal(size=tau.shape), noise)


def _misjudged(mechanism: mc.Mechanism, rng: Any) -> mc.Mechanism:
    parts = []
    for x in mechanism.parts:
        m, com, I = x.body
        s = float(rng.uniform(0.8, 1.25))
        parts.append(dataclasses.replace(x, body=(m * s, com, I * s)))
    return mc.Mechanism(parts, mechanism.gravity)


@law(limit=60, weight=0.5)
def law_identification_scales_with_units(rng: Any) -> None:
    """Every number of an identification is the same quantity in other units."""
    mechanism, t, (q, dq, ddq), (tau, _) = _experiment(rng, 2)
    described_as = _misjudged(mechanism, rng)
    length, mass, time = UNITS[int(rng.integers(len(UNITS)))]
    method = str(rng.choice(["ordinary", "weighted", "robust"]))
    filtered = bool(rng.random() < 0.3)
    note(rng, mechanism=described(mechanism), units=(length, mass, time), method=method)
    found = []
    for L, M, T in ((1.0, 1.0, 1.0), (length, mass, time)):
        robot = mc.robot_of(described_as, L, M, T)
        x, dx, ddx = mc.in_units(mechanism, (q, dq, ddq), L, T)
        rates = () if filtered else (dx, ddx)
        force = mc.force_units(mechanism, L, M, T)
        data = kt.identify.make_recording(robot, t * T, x, tau * force, *rates)
        found.append(kt.identify.identify(robot, data, folds=2, method=method))
    a, b = found
    kinds = [[x.kind for x in y.verdict.reasons] for y in found]
    assert kinds[0] == kinds[1] and a.withheld == b.withheld, f"{kinds}: {described(mechanism)}"
    case = f"{method}, {(length, mass, time)}: {described(mechanism)}"
    assert a.base.kept == b.base.kept and a.untold == b.untold, case
    assert _words(a.notes) == _words(b.notes), f"{a.notes} or {b.notes}: {case}"
    unit = np.array([_unit(name, length, mass, time) for name in a.sought.units])
    force, kept = mc.force_units(mechanism, length, mass, time), list(a.base.kept)
    pairs = {
        "beta": (a.fit.beta * unit[kept], b.fit.beta, b.fit.standard_error),
        "errors": (a.fit.standard_error * unit[kept], b.fit.standard_error, b.fit.standard_error),
        "noise": (a.fit.sigma * force, b.fit.sigma, b.fit.sigma),
        "residual": (a.fit.residual * force, b.fit.residual, b.fit.sigma),
        "folds": (a.folds * force, b.folds, b.fit.sigma),
        "error": (a.error() * force, b.error(), b.fit.sigma),
        "condition": (a.fit.condition, b.fit.condition, a.fit.condition),
        "x": (a.estimate.x * unit, b.estimate.x, b.estimate.deviation),
        "deviation": (a.estimate.deviation * unit, b.estimate.deviation, b.estimate.deviation),
        "learned": (a.estimate.learned, b.estimate.learned, 1.0),
    }
    for what, (scaled, other, size) in pairs.items():
        off = float(np.max(np.abs(scaled - other) / size))
        assert off < 1e-5, f"{what} is {off:.2g} of its error off in other units, {case}"


def _words(notes: Any) -> list[str]:
    """Notes without their numbers, and without the question for the unit of t."""
    asked = [text for text in notes if "is t in s" not in text]
    return [re.sub(r"[-+]?[\d.]+(e[-+]?\d+)?", "#", text) for text in asked]


def _unit(name: str, length: float, mass: float, time: float) -> float:
    newton = mass * length / time**2
    return {
        "kg": mass, "kg m": mass * length, "kg m^2": mass * length**2, "N": newton,
        "N m": newton * length, "N s/m": newton * time / length,
        "N m s/rad": newton * length * time,
        "m/s": length / time, "rad/s": 1 / time, "s/m": time / length, "s/rad": time, "": 1.0,
    }[name]  # fmt: skip


@law(limit=60, weight=0.5)
def law_identified_robot_predicts_at_noise_level(rng: Any) -> None:
    """On motion that was held out errors are those of the sensors; bodies exist."""
    mechanism, t, motion, (tau, noise) = _experiment(rng)
    robot = mc.robot_of(_misjudged(mechanism, rng))
    note(rng, mechanism=described(mechanism))
    data = kt.identify.make_recording(robot, t, motion[0], tau, *motion[1:])
    found = kt.identify.identify(robot, data, folds=2, hold_out=0.3)
    for physical in (True, False):
        ratio = found.error(physical=physical) / noise
        # 45 held-out samples give the noise to 11 %, and up to 12 parameters a joint add to it
        assert ratio.max() < 2.0, f"{ratio} times the noise: {described(mechanism)}"
    for m, com, I in zip(
        found.robot.model.m, found.robot.model.com, found.robot.model.I_com, strict=True
    ):
        S = np.trace(I) / 2 * np.eye(3) - I
        assert m > 0 and np.isfinite(com).all(), f"mass {m}: {described(mechanism)}"
        assert np.linalg.eigvalsh(S)[0] > 0, f"second moments {S}: {described(mechanism)}"


@law(limit=60, weight=0.5)
def law_a_wrong_clock_is_named_or_undecided_or_harmless(rng: Any) -> None:
    """A slow clock never leaves wrong intervals without a word."""
    mechanism, t, (q, dq, ddq), (tau, _) = _experiment(rng)
    robot, slow = mc.robot_of(_misjudged(mechanism, rng)), float(rng.uniform(0.75, 0.95))
    note(rng, mechanism=described(mechanism), slow=slow)
    data = kt.identify.make_recording(robot, slow * t, q, tau, dq / slow, ddq / slow**2)
    found = kt.identify.identify(robot, data, folds=2, friction="symmetric", lag=0.0)
    if found.verdict.word != "usable" or "time-scale" in {x.kind for x in found.verdict.undecided}:
        return
    truth = found.base.K @ found.sought.values(mc.robot_of(mechanism).model)
    misses = np.abs(found.fit.beta - truth) / found.fit.standard_error
    assert np.mean(misses < 1.96) > 0.7, f"clock {slow:.3g}: {misses}: {described(mechanism)}"
