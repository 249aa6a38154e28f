"""Energies, momentum and centre of mass of small robots, by hand."""

from math import cos, pi, sin

import numpy as np
import pytest

from kinetree import Builder, robots
from kinetree import algorithms as kt
from kinetree.files.description import Rotor

HAND = 1e-14  # formulas of a few operations on numbers near one


def test_a_double_pendulum_has_the_energies_of_its_two_masses():
    model = robots.double_pendulum(m1=2, m2=3, l1=0.5, l2=0.7).model
    (a, b), (da, db) = (0.4, -1.1), (0.3, 0.8)
    turn, rate = a + b, da + db
    x = np.array([[-0.5 * sin(a), -0.5 * cos(a)]] * 2) - [
        [0, 0],
        [0.7 * sin(turn), 0.7 * cos(turn)],
    ]
    v = np.array([[-0.5 * cos(a), 0.5 * sin(a)]] * 2) * da
    v[1] += np.array([-0.7 * cos(turn), 0.7 * sin(turn)]) * rate
    m = np.array([2, 3])
    assert kt.potential_energy(model, [a, b]) == pytest.approx(9.81 * m @ x[:, 1], rel=HAND)
    T = m @ (v * v).sum(1) / 2
    assert kt.kinetic_energy(model, [a, b], [da, db]) == pytest.approx(T, rel=HAND)
    com = m @ x / 5
    assert kt.center_of_mass(model, [a, b])[[0, 2]] == pytest.approx(com, rel=HAND)
    assert kt.momentum(model, [a, b], [da, db])[[3, 5]] == pytest.approx(m @ v, rel=HAND)


def test_a_rotor_carries_energy_and_spin():
    """Rotor speed relative to its carrier; what is at rest has what the rotor has."""
    builder = Builder().link("base").link("arm", 1, (0, 0, 0), np.eye(3))
    rotor = Rotor(inertia=0.01, ratio=10, axis=(1, 0, 0), link="base")
    model = builder.joint("j", "revolute", "base", "arm", rotor=rotor).build_model()
    assert kt.kinetic_energy(model, [0], [2]) == pytest.approx(0.5 * 4 + 0.5 * 0.01 * 20**2)
    assert kt.momentum(model, [0], [2]) == pytest.approx([0.2, 0, 2, 0, 0, 0])


def test_a_rotor_on_the_turning_link_spins_faster_than_it():
    """Carried at dq, spinning at r dq more: 1/2 I (1 + r)^2 dq^2, the locked part in the link."""
    builder = Builder().link("base").link("arm", 1, (0, 0, 0), np.eye(3))
    model = builder.joint(
        "j", "revolute", "base", "arm", rotor=Rotor(0.01, 10, None, "arm")
    ).build_model()
    assert kt.kinetic_energy(model, [0], [2]) == pytest.approx(
        0.5 * 4 * (1 - 0.01) + 0.5 * 0.01 * (11 * 2) ** 2
    )
    assert kt.momentum(model, [0], [2])[2] == pytest.approx(2 * (1 - 0.01) + 0.01 * 22)


def test_the_base_counts_for_mass_and_centre_but_not_for_motion():
    builder = Builder().link("base", 3, (1, 0, 0)).link("arm", 1, (0, 0, 2))
    model = builder.joint("j", "revolute", "base", "arm", axis=(0, 1, 0)).build_model()
    assert kt.total_mass(model) == 4
    assert kt.center_of_mass(model, [pi / 2]) == pytest.approx([5 / 4, 0, 0], abs=HAND)
    assert kt.potential_energy(model, [0]) == pytest.approx(9.81 * 2)
    assert kt.kinetic_energy(model, [0], [1]) == pytest.approx(2)
    about_centre = kt.centroidal_momentum(model, [0], [1])
    assert about_centre == pytest.approx([0, 4 - 2 * 0.5, 0, 2, 0, 0], abs=HAND)
