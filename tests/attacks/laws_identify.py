"""Base parameters and identification: exact ranks, forces reproduced in any units, noise level."""

from typing import Any

import mechanisms as mc
import numpy as np
from attack_case import law, note

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
