"""Robots drawn from a case, and motions computed without the simulator of kinetree.

Robots come with `pinocchio` or hand-written equations as oracles; scipy integrates them.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import kinetree as kt


def body(rng: Any) -> tuple[float, Any, Any]:
    """Mass, centre and inertia of six mass points."""
    masses, points = rng.uniform(0.1, 0.4, 6), rng.normal(size=(6, 3)) * 0.15
    points = points + np.eye(3)[[0, 1, 2, 0, 1, 2]] * 0.05  # stays a body when draws are zeros
    m = float(masses.sum())
    com = masses @ points / m
    d = points - com
    I = sum(w * (x @ x * np.eye(3) - np.outer(x, x)) for w, x in zip(masses, d, strict=True))
    return m, com, np.asarray(I)


def rotation(rng: Any) -> Any:
    """A rotation matrix from a random quaternion."""
    return quaternion_matrix(unit(rng.normal(size=4), (1, 0, 0, 0)))


def quaternion_matrix(p: Any) -> Any:
    """The rotation matrix of a unit quaternion (w, x, y, z)."""
    w, x, y, z = p
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def unit(x: Any, otherwise: Any) -> Any:
    """x of length one; another vector where x is zero."""
    x = np.asarray(x, float)
    length = np.linalg.norm(x)
    return x / length if length > 1e-9 else np.asarray(otherwise, float)


def placement(rng: Any) -> Any:
    """A pose about 0.3 m away."""
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = rotation(rng), rng.normal(size=3) * 0.3
    return T


SCREWS = ("revolute", "prismatic", "helical")


def tree(
    rng: Any,
    most: int = 4,
    *,
    types: Sequence[str] = SCREWS,
    base: Any = None,
    gravity: Any = None,
    armature: bool = True,
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0),
    friction: Callable[[int], kt.Friction] | None = None,
    name: str = "tree",
) -> kt.Robot:
    """A random tree of up to `most` joints; one of two is a chain.

    base: pose of the whole robot in {s}. scale: units of length, mass and time in the numbers of
    the robot, such as (1e3, 1e3, 1e3) for mm, g and ms; draws do not depend on it.
    """
    L, W, S = scale
    base = np.eye(4) if base is None else base
    drawn = rng.normal(size=3) * 6
    down = drawn if gravity is None else np.asarray(gravity, float)
    builder = kt.Builder(name, gravity=base[:3, :3] @ down * L / S**2)
    builder.link("base")
    names, n = ["base"], int(rng.integers(1, most + 1))
    chain = rng.random() < 0.5
    for i in range(n):
        parent = names[-1] if chain else names[int(rng.integers(len(names)))]
        kind = str(rng.choice(list(types)))
        m, com, I = body(rng)
        T, axis = placement(rng), unit(rng.normal(size=3), (0, 0, 1))
        pitch, point = float(rng.normal() * 0.1), rng.normal(size=3) * 0.2
        rotor = float(rng.uniform(0, 0.1)) if armature else 0.0
        if parent == "base":
            T = base @ T
        T = T.copy()
        T[:3, 3] *= L
        unit_of = W if kind == "prismatic" else W * L**2
        builder.link(f"link{i}", m * W, com * L, I * W * L**2)
        more: dict[str, Any] = {"pitch": pitch * L} if kind == "helical" else {}
        if kind in SCREWS:
            more |= {"axis": axis, "point": point * L, "armature": rotor * unit_of}
        if friction is not None:
            more["friction"] = friction(i)
        builder.joint(f"joint{i}", kind, parent, f"link{i}", at=T, **more)
        names.append(f"link{i}")
    return builder.build()


def slider(m: float = 1.0, friction: Any = None, **more: Any) -> kt.Robot:
    """A mass on a horizontal rail."""
    friction = kt.Friction() if friction is None else friction
    builder = kt.Builder("slider").link("base").link("mass", m, (0, 0, 0), np.eye(3) * 0.01)
    builder.joint("rail", "prismatic", "base", "mass", axis=(1, 0, 0), friction=friction, **more)
    return builder.build()


def pendulum(m: float = 1.0, length: float = 1.0, g: float = 9.81, **more: Any) -> kt.Robot:
    """A point mass on a rod that hangs down at q = 0; ddq = -(g / length) sin q."""
    builder = kt.Builder("pendulum", gravity=(0, 0, -g)).link("base")
    builder.link("bob", m, (0, 0, -length))
    builder.joint("pivot", "revolute", "base", "bob", axis=(0, 1, 0), **more)
    return builder.build()


def pendulum_motion(q0: float, dq0: float, rate: float, t: Any) -> tuple[Any, Any]:
    """q and dq of ddq = -rate^2 sin q, by Jacobi's elliptic functions."""
    from scipy.special import ellipj, ellipk, ellipkinc

    t = np.asarray(t, float)
    energy = (dq0 / (2 * rate)) ** 2 + np.sin(q0 / 2) ** 2  # k^2 of a swing
    if energy < 1:  # swings: sin(q/2) = k sn(rate t + phase, k^2)
        k = np.sqrt(energy)
        if k == 0:
            return t * 0, t * 0
        turns = 2 * np.pi * np.round(q0 / (2 * np.pi))
        start = np.arcsin(np.clip(np.sin((q0 - turns) / 2) / k, -1, 1))
        phase = ellipkinc(start, energy)
        if dq0 < 0:
            phase = 2 * ellipk(energy) - phase
        sn, cn, _, _ = ellipj(rate * t + phase, energy)
        return turns + 2 * np.arcsin(np.clip(k * sn, -1, 1)), 2 * rate * k * cn
    m = 1 / energy  # turns over: q/2 = am(rate t / sqrt(m) + phase, m)
    way = np.sign(dq0)
    u = way * rate * t / np.sqrt(m) + ellipkinc(q0 / 2, m)
    _, _, dn, am = ellipj(u, m)
    return 2 * am, way * 2 * rate / np.sqrt(m) * dn


def integrate(
    rate: Callable[[float, Any], Any], x0: Any, t: Any, breaks: Sequence[float] = ()
) -> Any:
    """Solution of dx/dt = rate(t, x) at times t, restarted at breaks; scipy, 1e-12."""
    from scipy.integrate import solve_ivp

    t = np.asarray(t, float)
    ends = sorted({float(b) for b in breaks if t[0] < b < t[-1]} | {float(t[-1])})
    x, start = np.asarray(x0, float), float(t[0])
    done = np.zeros(len(t), bool)
    result = np.empty((len(t), len(x)))
    for end in ends:
        inside = ~done & (t <= end)
        first, last = np.nextafter(start, end), np.nextafter(end, start)

        def within(s: float, y: Any, low: float = first, high: float = last) -> Any:
            """Evaluate strictly inside the piece: a switch at its end belongs to the next one."""
            return rate(min(max(s, low), high), y)

        run = solve_ivp(
            within,
            (start, end),
            x,
            method="DOP853",
            rtol=2e-13,
            atol=1e-13,
            dense_output=bool(inside.any()),
            max_step=(end - start) / 8,
        )
        assert run.success, run.message
        if inside.any():
            result[inside] = run.sol(t[inside]).T
            done |= inside
        x, start = run.y[:, -1], end
    return result


def pinocchio_rate(
    robot: kt.Robot, tau: Callable[[float, Any, Any], Any], wrench: Any = None
) -> Any:
    """dx/dt of x = (q, dq) by pin.aba, for robots of screw joints."""
    import pinocchio as pin
    from pinocchio_model import twin

    double = twin(robot.model)
    data, order = double.theirs.createData(), double.order
    back, n = np.argsort(order), robot.n
    wrenches = None if wrench is None else double.wrenches(wrench)

    def rate(t: float, x: Any) -> Any:
        q, dq = x[:n], x[n:]
        args = [double.theirs, data, double.q(q), dq[order], np.asarray(tau(t, q, dq))[order]]
        ddq = pin.aba(*args) if wrenches is None else pin.aba(*args, wrenches)
        return np.concatenate([dq, ddq[back]])

    return rate


def close(found: Any, expected: Any, tolerance: Any, what: str) -> None:
    """Assert that arrays agree to an absolute tolerance, and say where they differ most."""
    found, expected = np.asarray(found, float), np.asarray(expected, float)
    expected = np.broadcast_to(expected, found.shape) if expected.ndim == 0 else expected
    assert found.shape == expected.shape, f"{what}: shape {found.shape}, expected {expected.shape}"
    if found.size == 0:
        return
    excess = np.abs(found - expected) - tolerance
    excess = np.where(np.isnan(excess), np.inf, excess)
    k = np.unravel_index(int(np.argmax(excess)), excess.shape)
    limit = np.broadcast_to(tolerance, excess.shape)[k]
    assert excess[k] <= 0, (
        f"{what}: found {found[k]!r}, expected {expected[k]!r}, difference "
        f"{abs(found[k] - expected[k]):.3g} exceeds {limit:.3g} at index {tuple(map(int, k))}"
    )


def size(x: Any) -> float:
    """Largest magnitude, at least 1."""
    x = np.asarray(x, float)
    return max(1.0, float(np.abs(x).max())) if x.size else 1.0
