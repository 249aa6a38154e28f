"""Laws of constrained motion on random trees that are tied together, and on planar mechanisms."""

import numpy as np
import pytest

from closed_loops import (
    CONNECTING_ROD,
    CRANK,
    four_bar,
    four_bar_position,
    slider_crank,
    slider_crank_position,
    slider_crank_tree,
    tied_robot,
)
from kinetree import algorithms
from kinetree.algorithms.joints.friction import frictionless
from kinetree.constraints import Loop
from kinetree.errors import ModelError

SEEDS = range(12)


class Case:
    """A constrained robot at a closed state, without friction, which would take energy."""

    def __init__(self, seed: int, **options):
        rng = np.random.default_rng((3, seed))
        tree, given, q = tied_robot(seed)
        self.tree = type(tree)(frictionless(tree.model))
        self.given, self.q = given, q
        self.robot = self.tree.constrained(given, near=q, **options)
        self.model = self.robot.model
        self.dq = algorithms.project_rates(self.model, q, rng.normal(size=tree.n))
        self.tau = rng.normal(size=tree.n)
        self.J = algorithms.constraint_jacobian(self.model, q)

    def accelerations(self, model=None):
        model = self.model if model is None else model
        return algorithms.constrained_forward_dynamics(model, self.q, self.dq, self.tau)


@pytest.fixture(params=SEEDS, ids=lambda seed: f"robot{seed}", scope="module")
def seed(request):
    return request.param


@pytest.fixture(scope="module")
def case(seed):
    return Case(seed)


def relative(x, y):
    x, y = np.asarray(x, float), np.asarray(y, float)
    return np.abs(x - y).max(initial=0) / (1 + np.abs(y).max(initial=0))


def test_forces_of_constraints_do_no_work(case):
    found = case.accelerations()
    power = found.lam @ (case.J @ case.dq)
    # dq is the allowed part of random rates of about 1, whose rounding errors it has; of a robot
    # that cannot move it has nothing else
    assert abs(power) < 1e-13 * (1 + np.abs(found.lam).max() * (1 + np.abs(case.dq).max()))


def test_the_equation_of_motion_and_the_constraints_are_satisfied(case):
    found, tree = case.accelerations(), case.tree.model
    M = algorithms.mass_matrix(tree, case.q)
    h = algorithms.bias_forces(tree, case.q, case.dq)
    assert relative(M @ found.ddq + h, case.tau + case.J.T @ found.lam) < 1e-11
    gamma = algorithms.constraint_bias(case.model, case.q, case.dq)
    assert relative(case.J @ found.ddq, -gamma) < 1e-11


def test_power_is_the_rate_of_the_energy(case):
    """Energies of the tree, along the constrained motion."""
    ddq, h = case.accelerations().ddq, 1e-5

    def energy(t):
        q = algorithms.integrate(case.model, case.q, case.dq * t + ddq * t * t / 2)
        dq = case.dq + ddq * t
        U = algorithms.potential_energy(case.model, q)
        return U + algorithms.kinetic_energy(case.model, q, dq)

    rate = (energy(h) - energy(-h)) / (2 * h)
    power = case.tau @ case.dq
    assert abs(rate - power) < 1e-6 * (1 + abs(power) + abs(energy(0)))


def test_inverse_dynamics_undoes_forward_dynamics(case):
    """tau is another one with more motors than needed, but it makes the same motion."""
    found = case.accelerations()
    back = algorithms.constrained_inverse_dynamics(case.model, case.q, case.dq, found.ddq)
    again = algorithms.constrained_forward_dynamics(case.model, case.q, case.dq, back.tau)
    assert relative(again.ddq, found.ddq) < 1e-9
    assert relative(again.lam, back.lam) < 1e-8
    assert np.linalg.norm(back.tau) <= np.linalg.norm(case.tau) * (1 + 1e-9)


def test_forces_of_least_norm_are_orthogonal_to_what_constraints_carry(case):
    found = case.accelerations()
    back = algorithms.constrained_inverse_dynamics(case.model, case.q, case.dq, found.ddq)
    assert np.abs(case.J @ back.tau).max() < 1e-10 * (1 + np.abs(back.tau).max())


def test_redundant_copies_change_nothing_but_the_sharing_of_forces(case):
    copies = {f"{name} again": record for name, record in case.given.items()}
    twice = case.robot.constrained(copies, near=case.q)
    assert twice.mobility.degrees_of_freedom == case.robot.mobility.degrees_of_freedom
    found, other = case.accelerations(), case.accelerations(twice.model)
    assert relative(other.ddq, found.ddq) < 1e-10
    half = np.split(other.lam, 2)  # least norm shares equally
    assert relative(half[0], half[1]) < 1e-9 and relative(half[0] * 2, found.lam) < 1e-9


def test_the_order_and_names_of_constraints_do_not_matter(case):
    renamed = {f"x{name}": record for name, record in reversed(case.given.items())}
    other = case.accelerations(case.tree.constrained(renamed, near=case.q).model)
    assert relative(other.ddq, case.accelerations().ddq) < 1e-10


def test_an_impulse_loses_the_energy_of_the_lost_rates(case):
    """Kinetic energy is lost exactly by that of dq - dq_after (Carnot)."""
    dq = case.dq + 0.5
    found = algorithms.constraint_impulse(case.model, case.q, dq)
    T = [algorithms.kinetic_energy(case.model, case.q, x) for x in (dq, found.dq, dq - found.dq)]
    assert abs(T[0] - T[1] - T[2]) < 1e-11 * T[0]
    M = algorithms.mass_matrix(case.tree.model, case.q)
    assert relative(M @ (found.dq - dq), case.J.T @ found.impulse) < 1e-11
    assert np.abs(found.residual).max() < 1e-11


def test_reduced_dynamics_give_the_same_accelerations(case):
    own = list(case.model.constraints.independent)
    if not own:  # the constraints leave no freedom
        assert np.abs(case.dq).max() < 1e-9
        with pytest.raises(ModelError, match="needs a degree of freedom"):
            algorithms.reduced_dynamics(case.model, case.q, case.dq)
        return
    M, h, N = algorithms.reduced_dynamics(case.model, case.q, case.dq)
    y = np.linalg.solve(M, N.T @ case.tau - h)
    found = case.accelerations().ddq
    slack = 1e-12 * np.linalg.cond(N) ** 2 * np.linalg.cond(M)
    assert relative(y, found[own]) < max(1e-10, slack)
    assert relative(N @ case.dq[own], case.dq) < 1e-9
    energy = algorithms.kinetic_energy(case.model, case.q, case.dq)
    assert abs(case.dq[own] @ M @ case.dq[own] / 2 - energy) < 1e-9 * (1 + energy)


@pytest.mark.parametrize("angle", np.linspace(0, 2 * np.pi, 9))
def test_the_cut_joint_of_a_four_bar_does_not_matter(angle):
    """Cut at the end of the rocker, or at its pivot: joints of the rocker differ by the coupler."""
    cuts = [four_bar(cut, actuated=["crank"]) for cut in ("rocker", "ground")]
    first = four_bar_position(cuts[0], angle)
    crank, coupler, rocker = first
    # in the chain, the rocker's angle is counted from the coupler
    second = cuts[1].project([crank, coupler, rocker - crank - coupler], keep=["crank"])
    assert np.abs(second - [crank, coupler, rocker - crank - coupler]).max() < 1e-9
    states = []
    for robot, q in zip(cuts, (first, second), strict=True):
        dq = robot.reduced_dynamics(q, np.zeros(3))[2][:, 0] * 1.7
        ddq = robot.forward_dynamics(q, dq, [0.4, 0, 0])
        states.append((ddq[:2], robot.inverse_dynamics(q, dq, ddq)[0]))
    assert relative(states[0][0], states[1][0]) < 1e-9
    assert abs(states[0][1] - states[1][1]) < 1e-9 and abs(states[0][1] - 0.4) < 1e-9


def closed_slider_crank(angle, rate, torque):
    """Acceleration of the crank from one equation in its angle, written out for this mechanism."""
    r, l = CRANK, CONNECTING_ROD
    masses, inertia, g = (1.2, 0.7, 2.0), 0.03, 9.81
    s, c = np.sin(angle), np.cos(angle)
    ratio = r / l
    cosine = np.sqrt(1 - (ratio * s) ** 2)  # of the rod's inclination phi, sin(phi) = -ratio s
    phi_1 = -ratio * c / cosine  # d phi / d angle
    phi_2 = (ratio * s - ratio * s * phi_1**2) / cosine
    # of the rod's centre: r (c, s) + l/2 (cos phi, sin phi), and of the slider
    x_1 = -r * s + l / 2 * ratio * s * phi_1
    y_1 = r * c + l / 2 * cosine * phi_1
    sine = -ratio * s
    x_2 = -r * c - l / 2 * (cosine * phi_1**2 + sine * phi_2)
    y_2 = -r * s + l / 2 * (-sine * phi_1**2 + cosine * phi_2)
    e_1 = -r * s - l * sine * phi_1
    e_2 = -r * c - l * (cosine * phi_1**2 + sine * phi_2)
    M = masses[0] * r**2 / 4 + inertia + inertia * phi_1**2 + masses[2] * e_1**2
    M = M + masses[1] * (x_1**2 + y_1**2)
    slope = inertia * phi_1 * phi_2 + masses[1] * (x_1 * x_2 + y_1 * y_2) + masses[2] * e_1 * e_2
    weight = g * (masses[0] * r / 2 * c + masses[1] * y_1)
    return (torque - slope * rate**2 - weight) / M


def test_the_slider_crank_moves_as_its_closed_form_over_a_turn():
    robot = slider_crank(actuated=["crank"])
    for angle in np.linspace(0, 2 * np.pi, 49):
        q = slider_crank_position(angle)
        rate, torque = 2.3 * np.cos(angle), 1.5
        N = robot.reduced_dynamics(q, np.zeros(3))[2]
        dq = N[:, 0] * rate
        ddq = robot.forward_dynamics(q, dq, [torque, 0, 0])
        expected = closed_slider_crank(angle, rate, torque)
        assert abs(ddq[0] - expected) < 1e-10 * (1 + abs(expected))
        assert abs(robot.inverse_dynamics(q, dq, ddq)[0] - torque) < 1e-10


def test_a_loop_of_any_kind_closes_a_planar_mechanism_alike():
    """A hinge and a ball joint differ only in equations that a planar mechanism does not need."""
    tree, q = slider_crank_tree(), slider_crank_position(0.8)
    found = []
    for kind in ("axis", "point"):
        robot = tree.constrained({"loop": Loop("pin", "tip", kind)})
        assert robot.mobility.degrees_of_freedom == 1
        dq = robot.project_rates(q, [1, 0, 0])
        found.append(robot.forward_dynamics(q, dq, [0.3, 0, 0]))
    assert relative(found[0], found[1]) < 1e-12
