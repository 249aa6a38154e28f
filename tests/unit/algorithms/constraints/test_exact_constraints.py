"""Constrained dynamics over exact numbers: SymPy's Lagrange multipliers, and fifty digits."""

import mpmath
import numpy as np
import pytest
import sympy

import kinetree as kt
from closed_loops import slider_crank_tree, tied_robot
from kinetree import algorithms
from kinetree.constraints import Loop
from precise_robots import numbers, precise

RATES = [sympy.Rational(3, 2), sympy.Rational(-2, 5), sympy.Rational(1, 3)]
FORCES = [sympy.Rational(1, 2), sympy.Rational(-1, 4), sympy.Rational(2, 3)]


def angle(numerator, denominator):
    """An angle whose sine and cosine are fractions: that of the point (numerator, denominator)."""
    return sympy.atan2(numerator, denominator)


def exact(model):
    """The model in fractions, as its decimal numbers read."""
    return model.astype(lambda x: sympy.Rational(str(x)))


def bar_inertia(m, length):
    """Moment about z of a bar with a square section of 0.02 m, about its middle."""
    return sympy.Rational(m) * (sympy.Rational(length) ** 2 + sympy.Rational("0.02") ** 2) / 12


class Planar:
    """Bars in a plane, by their angles to the x axis; all numbers are those of the docstrings."""

    def __init__(self, *names):
        self.t = sympy.Symbol("t")
        self.names = [sympy.Function(name)(self.t) for name in names]
        self.energy = 0  # kinetic less potential

    def body(self, m, place, angle=0, inertia=0):
        m, v = sympy.Rational(m), place.diff(self.t)
        spin = sympy.diff(angle, self.t)
        self.energy += m * v.dot(v) / 2 + inertia * spin**2 / 2
        self.energy -= m * sympy.Rational("9.81") * place[1]

    def bar(self, m, length, begin, angle):
        """Add a bar; return its other end."""
        along = sympy.Matrix([sympy.cos(angle), sympy.sin(angle)]) * sympy.Rational(length)
        self.body(m, begin + along / 2, angle, bar_inertia(m, length))
        return begin + along


def built_in(which):
    """The bars of a built-in mechanism, its closure in axes of the tip, and which joints drive."""
    if which == "slider_crank":
        planar = Planar("a", "b", "x")
        a, b, x = planar.names
        end = planar.bar(2, "0.6", planar.bar(1, "0.2", sympy.zeros(2, 1), a), a + b)
        tip, turn, motors = sympy.Matrix([x + sympy.Rational("0.8"), 0]), 0, [0]
        planar.body(3, tip)
    elif which == "four_bar":
        planar = Planar("a", "b", "c")
        a, b, turn = planar.names
        end = planar.bar("2.5", "0.5", planar.bar(1, "0.2", sympy.zeros(2, 1), a), a + b)
        tip, motors = planar.bar(2, "0.4", sympy.Matrix([sympy.Rational(1, 2), 0]), turn), [0]
    else:
        planar = Planar("a", "b", "c", "d")
        a, b, c, d = planar.names
        left, right = (
            sympy.Matrix([x, 0]) for x in (-sympy.Rational(1, 20), sympy.Rational(1, 20))
        )
        end = planar.bar("1.5", "0.3", planar.bar(1, "0.2", left, a), a + b)
        turn, motors = c + d, [0, 2]
        tip = planar.bar("1.5", "0.3", planar.bar(1, "0.2", right, c), turn)
    s, k = sympy.sin(turn), sympy.cos(turn)
    return planar, sympy.Matrix([[k, s], [-s, k]]) * (end - tip), motors


def lagrange_equations(planar, closure, q, dq):
    """M, h, J and gamma of the Lagrangian and of the closure, as numbers without rounding."""
    t, names = planar.t, planar.names
    L, n = planar.energy, len(names)
    ddq = sympy.symbols(f"u0:{n}")
    at = [(x.diff(t, 2), u) for x, u in zip(names, ddq, strict=True)]
    at += [(x.diff(t), v) for x, v in zip(names, dq, strict=True)]
    at += list(zip(names, q, strict=True))

    def number(expression):
        return sympy.expand(sympy.expand_trig(expression.subs(at)))

    forces = [number(L.diff(x.diff(t)).diff(t) - L.diff(x)) for x in names]
    J = sympy.Matrix(2, n, lambda i, k: number(closure[i].diff(names[k])))
    M = sympy.Matrix(n, n, lambda i, k: forces[i].coeff(ddq[k]))
    rest = dict.fromkeys(ddq, 0)
    h = sympy.Matrix([x.subs(rest) for x in forces])
    return M, h, J, sympy.Matrix([number(x.diff(t, 2)).subs(rest) for x in closure])


BUILT_IN = {
    "slider_crank": [angle(3, 4), angle(-5, 12), sympy.Rational(-1, 10)],
    "four_bar": [angle(3, 4), angle(-5, 12), angle(15, 8)],
    "five_bar": [angle(12, -5), angle(-4, 3), angle(3, 4), angle(8, 15)],
}


@pytest.mark.parametrize("which", BUILT_IN)
def test_built_in_mechanisms_are_those_of_lagrange_multipliers_exactly(which):
    """Forward and inverse, forces of the loop and the reduced equations, at an open position."""
    q, (planar, closure, motors) = BUILT_IN[which], built_in(which)
    n = len(q)
    dq = [*RATES, sympy.Rational(5, 7)][:n]
    tau = [*FORCES, sympy.Rational(-3, 5)][:n]
    M, h, J, gamma = lagrange_equations(planar, closure, q, dq)
    assert all(x.is_Rational for x in (*M, *h, *J, *gamma))

    robot = getattr(kt.robots, which)()
    # decimals of the robot as fractions: their denominators are far below a million
    model = robot.model.astype(lambda x: sympy.Rational(x).limit_denominator(10**6))
    kept = [robot.mobility.rows.index(f"loop.linear_{x}") for x in "xy"]
    solved = sympy.Matrix(sympy.BlockMatrix([[M, -J.T], [J, sympy.zeros(2)]])).LUsolve(
        sympy.Matrix([*(sympy.Matrix(tau) - h), *-gamma])
    )
    found = algorithms.constrained_forward_dynamics(model, q, dq, tau)
    assert [sympy.expand(x) for x in found.ddq] == list(solved[:n])
    assert [sympy.expand(found.lam[k]) for k in kept] == list(solved[n:])
    assert all(sympy.expand(x) == 0 for x in found.residual)

    # motors alone make this motion: their forces and lambda solve S tau + J^T lambda = M ddq + h
    ddq = solved[:n, 0]
    choice = sympy.Matrix(n, len(motors), lambda i, k: int(i == motors[k]))
    forces = choice.row_join(J.T).LUsolve(M * ddq + h)
    back = algorithms.constrained_inverse_dynamics(model, q, dq, list(ddq))
    assert [sympy.expand(back.tau[k]) for k in motors] == list(forces[: len(motors)])
    assert [sympy.expand(back.lam[k]) for k in kept] == list(forces[len(motors) :])

    # rates of the motors are independent: J_d N_d = -J_i, and nu has no part along them
    others = [k for k in range(n) if k not in motors]
    N, nu = sympy.zeros(n, len(motors)), sympy.zeros(n, 1)
    for k, i in enumerate(motors):
        N[i, k] = 1
    slopes = J[:, others].LUsolve(-J[:, motors])
    bend = J[:, others].LUsolve(-gamma)
    for row, i in enumerate(others):
        N[i, :], nu[i] = slopes[row, :], bend[row]
    reduced = algorithms.reduced_dynamics(model, q, dq)
    for mine, expected in zip(reduced, (N.T * M * N, N.T * (M * nu + h), N), strict=True):
        exactly = sympy.Matrix(mine)
        assert exactly.applyfunc(sympy.expand) == expected


def test_motor_forces_are_exact_for_exact_numbers():
    tree = slider_crank_tree().constrained({"loop": Loop("pin", "tip", "point")})
    q = [angle(3, 4), angle(-5, 12), sympy.Rational(9, 10)]
    for motors in (["crank"], ["crank", "slide"], ["crank", "rod", "slide"]):
        model = exact(tree.constrained({}, actuated=motors).model)
        forward = algorithms.constrained_forward_dynamics(model, q, RATES, FORCES)
        back = algorithms.constrained_inverse_dynamics(model, q, RATES, forward.ddq)
        again = algorithms.constrained_forward_dynamics(model, q, RATES, back.tau)
        assert all(sympy.simplify(x - y) == 0 for x, y in zip(again.ddq, forward.ddq, strict=True))
        assert all(sympy.simplify(x) == 0 for x in back.force_residual)


DIGITS = 50
STEP = mpmath.mpf(10) ** -16


@pytest.fixture
def many_digits():
    with mpmath.workdps(DIGITS):
        yield


@pytest.mark.parametrize("seed", [0, 3, 5, 8])
def test_derivatives_agree_with_differences_in_fifty_digits(seed, many_digits):
    tree, given, q = tied_robot(seed, 4)
    robot = tree.constrained(given, near=q)
    rng = np.random.default_rng(seed)
    dq, tau = rng.normal(size=robot.n), rng.normal(size=robot.n)
    found = algorithms.constrained_forward_dynamics_derivatives(robot.model, q, dq, tau)
    model = precise(robot.model)
    state = numbers(q), numbers(dq), numbers(tau)
    for joint in model.joints:
        if joint.type in ("spherical", "free") and joint.follows is None:
            own = list(joint.coords[:4])
            state[0][own] = state[0][own] / mpmath.sqrt(state[0][own] @ state[0][own])

    def acceleration(q, dq, tau):
        return algorithms.constrained_forward_dynamics(model, q, dq, tau).ddq

    for k, slope in enumerate(found):
        scale = 1 + np.abs(slope).max()
        for d in range(robot.n):
            unit = numbers(np.eye(robot.n)[d])
            ends = []
            for sign in (1, -1):
                moved = list(state)
                if k == 0:
                    moved[0] = algorithms.integrate(model, state[0], unit * (sign * STEP))
                else:
                    moved[k] = state[k] + unit * (sign * STEP)
                ends.append(acceleration(*moved))
            expected = np.array((ends[0] - ends[1]) / (2 * STEP), float)
            assert np.abs(expected - slope[:, d]).max() < 1e-11 * scale
