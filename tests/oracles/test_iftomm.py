"""The references of examples/iftomm, from equations of motion in as few coordinates as possible.

A01, A02 and A04 have one coordinate x with the energy m(x) dx^2 / 2 + U(x); the symmetric governor
of A05 has three. SciPy integrates them; slopes of m and U are complex steps.
"""

import runpy
from pathlib import Path

import numpy as np
import pytest

integrate = pytest.importorskip("scipy.integrate", reason="scipy is not installed")

FOLDER = Path(__file__).parents[2] / "examples" / "iftomm"
GRAVITY, SECONDS = 9.81, 10.0
STEP = 1e-30  # of complex steps


def reference(name, of="END"):
    """The state at the end that an example has."""
    return runpy.run_path(str(FOLDER / f"{name}.py"))[of]


def slope(f, x):
    """df/dx of an analytic function."""
    return np.imag(f(x + STEP * 1j)) / STEP


def end(accelerations, start, method="DOP853", rtol=1e-12):
    """Coordinates and rates at the end."""

    def rates(t, y):
        return np.concatenate([y[len(y) // 2 :], accelerations(*np.split(y, 2))])

    run = integrate.solve_ivp(rates, (0, SECONDS), start, method, rtol=rtol, atol=1e-13)
    assert run.success
    return run.y[:, -1]


def one_coordinate(energies, start):
    """The end of a motion from (x, dx); energies(x) has m and U first."""

    def acceleration(x, v):
        m, U = energies(x.item() + STEP * 1j)[:2]
        return -(np.imag(U) + np.imag(m) * v**2 / 2) / STEP / np.real(m)

    return end(acceleration, start)


def test_pendulum():
    x, _ = one_coordinate(lambda x: (1, GRAVITY * np.sin(x)), [0.0, 0.0])
    np.testing.assert_allclose(reference("a01_pendulum"), [np.cos(x), np.sin(x)], atol=3e-12)


@pytest.mark.parametrize(("cells", "of"), [(2, "END"), (40, "END_OF_40")])
def test_uprights_turn_as_one_pendulum(cells, of):
    mass, height = cells + (cells + 1) / 3, cells + (cells + 1) / 2
    x, v = one_coordinate(lambda x: (mass, height * GRAVITY * np.cos(x)), [0.0, 1.0])
    state = [np.sin(x), np.cos(x), v * np.cos(x), -v * np.sin(x)]
    np.testing.assert_allclose(reference("a02_four_bars", of), state, atol=3e-11)


RODS = np.array([(1, 0, 0), (0, -1, 0), (0, 0, 1), (-1, 0, 0), (0, 1, 0)])
AXES = np.array([(0, 1, 0), (0, 0, 1), (1, 0, 0), (0, 1, 0), (0, 0, 1)])


def bricard(x):
    """m, U and P3 where every second hinge is at x."""
    y = np.arcsin(-np.sin(x) / (1 + np.sin(x)))
    dy = -np.cos(x) / (1 + np.sin(x)) ** 2 / np.cos(y)
    R, p, v, w = np.eye(3), np.zeros(3), np.zeros(3), np.zeros(3)
    mass, potential, places = 0, 0, []
    for u, axis, (angle, rate) in zip(RODS, AXES, [(x, 1), (y, dy)] * 3, strict=False):
        K = np.cross(np.eye(3), axis)  # of axis x
        w = w + R @ axis * rate
        R = R @ (np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K)
        I_com = R @ np.diag(np.where(u, 0.02, 1.01) / 12) @ R.T
        middle = v + np.cross(w, R @ u) / 2
        mass, potential = mass + middle @ middle + w @ I_com @ w, potential + (p + R @ u / 2)[1]
        places.append(p)
        p, v = p + R @ u, v + np.cross(w, R @ u)
    assert np.abs(p - [0, 0, 1]).max() < 1e-12  # the rods end in the last hinge
    return mass, GRAVITY * potential, places[2]


def test_bricard():
    x, _ = one_coordinate(bricard, [0.0, 0.0])
    np.testing.assert_allclose(reference("a04_bricard"), bricard(x)[2], atol=3e-12)


def governor(q, v):
    """Accelerations of shaft, slider and rods."""
    s, alpha = q[1:]
    bar, ball, slider, thick = 0.3, 5.0, 3.0, 0.01
    along, across = bar * thick**2 / 6, bar * (1 + thick**2) / 12

    def turning(alpha):
        """Inertia about the shaft."""
        rod = along * np.sin(alpha) ** 2 + across * np.cos(alpha) ** 2
        rod = rod + bar * (0.05 + np.cos(alpha) / 2) ** 2 + ball * (0.05 + np.cos(alpha)) ** 2
        return along + slider * 0.1**2 / 6 + 2 * rod

    def length(s, alpha):
        return np.sqrt((np.cos(alpha) / 2) ** 2 + (1 - np.sin(alpha) / 2 - s) ** 2)

    slopes = np.array([slope(lambda s: length(s, alpha), s), slope(lambda x: length(s, x), alpha)])
    force = -2 * (8e5 * (length(s, alpha) - 0.5) + 4e4 * slopes @ v[1:]) * slopes
    weight = GRAVITY * np.array([-slider, 2 * (bar / 2 + ball) * np.cos(alpha)])
    pull = np.array([0, slope(turning, alpha) * v[0] ** 2 / 2])
    swing = 2 * (across + bar / 4 + ball)
    turn = -slope(turning, alpha) * v[0] * v[2] / turning(alpha)
    return np.array([turn, *((force + weight + pull) / [slider, swing])])


def test_governor():
    end_of_s = end(governor, [0, 0.5, np.pi / 6, 2 * np.pi, 0, 0], "LSODA")[1]
    np.testing.assert_allclose(reference("a05_governor"), [end_of_s], atol=3e-11)
