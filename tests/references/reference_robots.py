"""Small robots whose equations of motion are written out in NumPy, and plain integrators."""

import numpy as np
from scipy.integrate import solve_ivp

import kinetree as kt

G = 9.81
DOUBLE = {"m1": 1.3, "m2": 0.8, "L": 0.6, "c1": 0.25, "c2": 0.3, "I1": 0.04, "I2": 0.03}


def cart(mass=2.0, **joint):
    """A mass on a level rail: mass ddq = tau - friction - spring."""
    built = kt.Builder("cart").link("base").link("cart", m=mass, I_com=np.eye(3))
    return built.joint("rail", "prismatic", "base", "cart", axis=(1, 0, 0), **joint).build()


def pendulum(m=1.3, length=0.7, inertia=0.05, **joint):
    """A body that hangs at q = 0: (inertia + m l^2) ddq = tau - m g l sin q."""
    built = kt.Builder("pendulum").link("base")
    built.link("bob", m=m, com=(0, 0, -length), I_com=np.eye(3) * inertia)
    return built.joint("hinge", "revolute", "base", "bob", axis=(0, 1, 0), **joint).build()


def double_pendulum(first=None, second=None):
    """Two links that hang at q = 0; arguments of the joints as dictionaries."""
    p = DOUBLE
    built = kt.Builder("double").link("base")
    built.link("upper", m=p["m1"], com=(0, 0, -p["c1"]), I_com=np.eye(3) * p["I1"])
    built.link("lower", m=p["m2"], com=(0, 0, -p["c2"]), I_com=np.eye(3) * p["I2"])
    built.joint("hip", "revolute", "base", "upper", axis=(0, 1, 0), **(first or {}))
    at = (0, 0, -p["L"])
    built.joint("knee", "revolute", "upper", "lower", axis=(0, 1, 0), at=at, **(second or {}))
    return built.build()


def double_mass_matrix(q):
    p = DOUBLE
    coupling = p["m2"] * p["L"] * p["c2"] * np.cos(q[1])
    last = p["I2"] + p["m2"] * p["c2"] ** 2
    first = p["I1"] + p["m1"] * p["c1"] ** 2 + p["m2"] * p["L"] ** 2 + last + 2 * coupling
    return np.array([[first, last + coupling], [last + coupling, last]])


def double_bias(q, dq):
    """Coriolis, centrifugal and gravity forces."""
    p = DOUBLE
    swing = p["m2"] * p["L"] * p["c2"] * np.sin(q[1])
    far = p["m2"] * p["c2"] * G * np.sin(q[0] + q[1])
    near = (p["m1"] * p["c1"] + p["m2"] * p["L"]) * G * np.sin(q[0])
    c = swing * np.array([-(2 * dq[0] + dq[1]) * dq[1], dq[0] ** 2])
    return c + np.array([near + far, far])


def double_acceleration(q, dq, tau=(0, 0)):
    return np.linalg.solve(double_mass_matrix(q), np.asarray(tau) - double_bias(q, dq))


def double_rate(forces=lambda t, q, dq: np.zeros(2)):
    """The rate of (q, dq) under forces, for `exact`."""

    def rate(t, x):
        q, dq = x[:2], x[2:]
        return np.concatenate([dq, double_acceleration(q, dq, forces(t, q, dq))])

    return rate


def exact(rate, x0, times, **options):
    """The states at the times, (T, n), by SciPy with tight tolerances."""
    options = {"method": "DOP853", "rtol": 1e-13, "atol": 1e-14} | options
    return solve_ivp(rate, (0, times[-1]), np.asarray(x0, float), t_eval=times, **options).y.T


def rk4_step(rate, t, x, h):
    a = rate(t, x)
    b = rate(t + h / 2, x + h / 2 * a)
    c = rate(t + h / 2, x + h / 2 * b)
    d = rate(t + h, x + h * c)
    return x + h / 6 * (a + 2 * b + 2 * c + d)


def order(steps, errors):
    """Order from a line through the logarithms of all errors."""
    return np.polyfit(np.log(steps), np.log(errors), 1)[0]


def energy(robot, motion):
    return robot.kinetic_energy(motion.q, motion.dq) + robot.potential_energy(motion.q)


def free_body(contacts=(), *, m=2.0, inertia=(0.02, 0.03, 0.04), gravity=(0, 0, -G), **options):
    """A free body whose frame is at its centre of mass, with contacts where some are given."""
    built = kt.Builder("body", gravity=gravity).link("base")
    built = built.link("body", m=m, I_com=np.diag(inertia))
    robot = built.joint("free", "free", "base", "body").build()
    return robot.with_contacts(list(contacts), **options) if contacts else robot
