"""Y pi = tau, energies and momentum are linear in pi, and base parameters are all that tau tells.

tau and Y pi are sums of the same terms in another order. Errors are relative to the size of these
terms, |Y| |pi| entry by entry: a sum may cancel, and no arithmetic can then know its digits.
"""

import dataclasses
from importlib import import_module

import numpy as np
import pytest

import kinetree as kt
from kinetree import algorithms, robots
from kinetree.algorithms import parameter_list
from kinetree.errors import ModelError
from kinetree.model import JointRotor, random_model
from other_units import SYSTEMS
from robot_states import EPS, any_robot, random_state, relative, size

base_module = import_module("kinetree.algorithms.base_parameters")  # its name is the function's
BUILT_IN = robots.TREES
ACCURACY = 8 * EPS  # as the project specifies
SEEDS = range(30)


def without_functions(model):
    """Friction functions are code, not parameters."""
    return model.replace(
        joints=tuple(
            dataclasses.replace(x, friction=dataclasses.replace(x.friction, function=None))
            for x in model.joints
        )
    )


def with_drives(model, seed):
    """The robot with friction in both directions and armature on every joint."""
    rng = np.random.default_rng(seed)
    pi = algorithms.parameters(model)
    drives = [k for k, x in enumerate(parameter_list(model)) if x.group == "joint"]
    pi[drives] = rng.uniform(0.1, 1.0, len(drives))
    return algorithms.with_parameters(model, pi)


@pytest.mark.parametrize("name", BUILT_IN)
def test_the_regressor_of_every_built_in_robot_gives_tau(name):
    model = with_drives(without_functions(getattr(robots, name)().model), 1)
    robot, pi = kt.Robot(model), algorithms.parameters(model)
    for seed in range(5):
        x = random_state(model, seed)
        tau = robot.inverse_dynamics(*x.motion)
        for Y in (robot.regressor(*x.motion), algorithms.regressor(model, *x.motion)):
            assert size(Y @ pi - tau) <= ACCURACY * size(np.abs(Y) @ np.abs(pi))


@pytest.mark.parametrize("seed", range(16))
def test_the_regressor_of_a_reference_gives_m_c_and_g(seed):
    """Y pi = M ddq_r + C dq_r + g + springs + friction, with C and friction of dq."""
    model = with_drives(without_functions(any_robot(seed, 8)), seed)
    x, rng = random_state(model, seed), np.random.default_rng(seed + 100)
    dq_r, ddq_r = rng.normal(size=(2, model.n))
    pi = algorithms.parameters(model)
    Y = algorithms.reference_regressor(model, x.q, x.dq, dq_r, ddq_r)
    M, C = algorithms.mass_matrix(model, x.q), algorithms.coriolis_matrix(model, x.q, x.dq)
    parts = [algorithms.gravity_forces(model, x.q), algorithms.spring_forces(model, x.q)]
    tau = M @ ddq_r + C @ dq_r + sum(parts) + algorithms.friction_forces(model, x.dq)
    assert size(Y @ pi - tau) <= 2 * ACCURACY * size(np.abs(Y) @ np.abs(pi))
    same = algorithms.reference_regressor(model, x.q, x.dq, x.dq, x.ddq)
    expected = algorithms.regressor(model, *x.motion)
    assert size(same - expected) <= 16 * EPS * (1 + size(expected))


@pytest.mark.parametrize("seed", range(4))
def test_the_regressor_of_a_reference_takes_no_power_along_the_error(seed):
    """s . (Y_r - Y) pi = s . (M ds + C s) is the rate of s . M s / 2, for a skew dM/dt - 2 C."""
    model = without_functions(any_robot(seed, 6))
    x, rng = random_state(model, seed), np.random.default_rng(seed + 9)
    pi, (dq_r, ddq_r) = algorithms.parameters(model), rng.normal(size=(2, model.n))
    s, ds = dq_r - x.dq, ddq_r - x.ddq
    Y = algorithms.reference_regressor(model, x.q, x.dq, dq_r, ddq_r)
    M, dM = algorithms.mass_matrix(model, x.q), algorithms.mass_matrix_rate(model, x.q, x.dq)
    power = s @ (Y - algorithms.regressor(model, *x.motion)) @ pi
    assert abs(power - (s @ M @ ds + s @ dM @ s / 2)) <= 1e-12 * (size(M) * size(s) * size(ds) + 1)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_regressor_of_random_trees_gives_tau(seed):
    model = without_functions(any_robot(seed, 10))
    x, pi = random_state(model, seed), algorithms.parameters(model)
    Y = algorithms.regressor(model, *x.motion)
    assert Y.shape == (model.n, len(parameter_list(model)))
    tau = algorithms.inverse_dynamics(model, *x.motion)
    assert size(Y @ pi - tau) <= ACCURACY * size(np.abs(Y) @ np.abs(pi))


@pytest.mark.parametrize("seed", SEEDS[::3])
def test_the_regressor_needs_no_parameters(seed):
    """Y of a robot whose parameters are others is the same Y."""
    model = without_functions(any_robot(seed, 6))
    x, rng = random_state(model, seed), np.random.default_rng(seed)
    pi = rng.uniform(0.5, 1.5, len(parameter_list(model)))
    other = algorithms.with_parameters(model, pi)
    Y = algorithms.regressor(model, *x.motion)
    assert np.array_equal(Y, algorithms.regressor(other, *x.motion))
    tau = algorithms.inverse_dynamics(other, *x.motion)
    assert size(Y @ pi - tau) <= ACCURACY * size(np.abs(Y) @ np.abs(pi))
    assert relative(algorithms.parameters(other), pi) < 4 * EPS


@pytest.mark.parametrize("recursive", [1, 64], ids=["recursion", "jacobians"])
@pytest.mark.parametrize("seed", SEEDS[::2])
def test_energies_and_momentum_are_linear_in_the_parameters(monkeypatch, seed, recursive):
    """The twists of the links are those of Jacobians, or of long robots by recursion."""
    module = import_module("kinetree.algorithms.regressor")
    monkeypatch.setattr(module, "RECURSIVE", recursive)
    model = any_robot(seed, 8)
    x, pi = random_state(model, seed), algorithms.parameters(model)
    y_T, y_U = algorithms.energy_regressor(model, x.q, x.dq)
    T, U = algorithms.kinetic_energy(model, x.q, x.dq), algorithms.potential_energy(model, x.q)
    base = -model.base[0] * (model.gravity[3:] @ model.base[1])
    assert abs(y_T @ pi - T) <= ACCURACY * (np.abs(y_T) @ np.abs(pi))
    assert abs(y_U @ pi + base - U) <= ACCURACY * (np.abs(y_U) @ np.abs(pi) + abs(base))
    Y = algorithms.momentum_regressor(model, x.q, x.dq)
    p = algorithms.momentum(model, x.q, x.dq)
    assert size(Y @ pi - p) <= ACCURACY * size(np.abs(Y) @ np.abs(pi))


def tilted_2r():
    """Two hinges in general position, neither upright."""
    return random_model(2, 2, types=("revolute",), chain=True, drives=False, fixed=False)


def upright_2r():
    """Two hinges in general position, the first along gravity."""
    model = tilted_2r()
    w = model.joints[0].screw[:3]
    return model.with_gravity(-9.81 * (model.M_pi[0][:3, :3] @ w))


KNOWN = {
    # name: (robot, number of base parameters of the links)
    "planar 2R": (lambda: robots.planar_2r().model, 6),
    "2R in general position": (tilted_2r, 10),
    "2R, first axis upright": (upright_2r, 8),
    "Puma 560": (lambda: robots.puma_560().model, 36),
    "Panda": (lambda: robots.panda().model, 43),  # Gaz, Cognetti, De Luca, 2019
}


@pytest.mark.parametrize("name", KNOWN)
def test_the_number_of_base_parameters_is_the_known_one(name):
    make, expected = KNOWN[name]
    model = make()
    numeric = algorithms.base_parameters(model, groups=["link"])
    rules = algorithms.base_parameters_by_rules(model)
    assert numeric.count == rules.count == expected
    assert numeric.kept == rules.kept
    np.testing.assert_allclose(numeric.K, rules.K, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", BUILT_IN)
def test_rules_and_numbers_agree_on_built_in_robots(name):
    model = getattr(robots, name)().model
    if model.n > 12 or any(joint.follows for joint in model.joints):
        pytest.skip("numbers of large robots take long, and mimic joints are beyond the rules")
    numeric = algorithms.base_parameters(model, groups=["link"])
    rules = algorithms.base_parameters_by_rules(model)
    assert numeric.kept == rules.kept
    np.testing.assert_allclose(numeric.K, rules.K, rtol=0, atol=1e-8)


@pytest.mark.parametrize("seed", SEEDS)
def test_rules_and_numbers_agree_on_random_trees(seed):
    model = random_model(
        seed, 1 + seed % 6, types=("revolute", "revolute", "prismatic", "spherical")
    )
    numeric = algorithms.base_parameters(model, groups=["link"])
    rules = algorithms.base_parameters_by_rules(model)
    assert numeric.kept == rules.kept
    np.testing.assert_allclose(numeric.K, rules.K, rtol=0, atol=1e-7)


def test_rules_refuse_joints_that_follow_others_and_numbers_do_not():
    model = robots.hand().model
    assert any(joint.follows is not None for joint in model.joints)
    with pytest.raises(ModelError, match="follows another"):
        algorithms.base_parameters_by_rules(model)


@pytest.mark.parametrize("seed", SEEDS[::3])
def test_base_parameters_are_enough_for_tau(seed):
    model = without_functions(any_robot(seed, 6))
    base = algorithms.base_parameters(model)
    x, pi = random_state(model, seed + 1000), algorithms.parameters(model)
    Y = algorithms.regressor(model, *x.motion)
    kept = [base.columns[k] for k in base.kept]
    tau = algorithms.inverse_dynamics(model, *x.motion)
    assert size(Y[:, kept] @ base.values(pi) - tau) < 1e-8 * size(np.abs(Y) @ np.abs(pi))


def with_gears(model, ratio, seed=0):
    """The robot with a geared rotor for every joint, on the link before it."""
    rng = np.random.default_rng(seed)
    rotors = []
    for i, joint in enumerate(model.joints):
        s = rng.normal(size=3)
        link, inertia = model.parent[i], float(rng.uniform(1e-5, 1e-4))
        rotors.append(JointRotor(i, joint.dofs[0], link, inertia, ratio, s / np.linalg.norm(s)))
    return model.replace(rotors=tuple(rotors))


def missed(model, base, seed=7):
    """What base parameters miss of tau, as a share of it, at a state of its own."""
    x, pi = random_state(model, seed), algorithms.parameters(model)
    kept = [base.columns[k] for k in base.kept]
    tau = algorithms.inverse_dynamics(model, *x.motion)
    Y = algorithms.regressor(model, *x.motion)
    return size(Y[:, kept] @ base.values(pi) - tau) / size(np.abs(Y) @ np.abs(pi))


GEARED = {
    "four joints": (lambda: random_model(5, 4, chain=True, drives=False, fixed=False), 80),
    "puma": (lambda: robots.puma_560().model, 80),
    "panda": (lambda: robots.panda().model, 160),
    "scara": (lambda: robots.scara().model, -1000),
}


@pytest.mark.parametrize("name", GEARED)
def test_geared_rotors_are_part_of_the_base_parameters(name):
    make, ratio = GEARED[name]
    model = with_gears(make(), ratio)
    base = algorithms.base_parameters(model)
    assert base.error < 1e-8
    assert missed(model, base) < 1e-9


@pytest.mark.parametrize(
    ("name", "system"),
    [*(("planar 2R", x) for x in SYSTEMS), *(("four joints", x) for x in SYSTEMS), ("puma", "um")],
)
def test_base_parameters_do_not_depend_on_units(name, system):
    make = {"planar 2R": lambda: robots.planar_2r().model}.get(name) or GEARED[name][0]
    plain = with_gears(without_functions(make()), 80)
    model = SYSTEMS[system].model(plain)
    base, found = algorithms.base_parameters(plain), algorithms.base_parameters(model)
    assert found.kept == base.kept
    assert base.without_effect == found.without_effect
    unit = pi_units(SYSTEMS[system], plain)
    kept = list(base.kept)
    expected = base.K * unit[kept][:, None] / unit
    size_of = np.abs(expected).max(axis=0)
    np.testing.assert_allclose(
        found.K / np.where(size_of > 0, size_of, 1),
        expected / np.where(size_of > 0, size_of, 1),
        rtol=1e-6,
        atol=1e-11,
    )


def pi_units(units, model):
    """What one SI unit of each parameter is in other units."""
    link = ["kg", *["kg m"] * 3, *["kg m^2"] * 6]
    names = link * len(model.links)
    for joint in model.joints:
        slides = joint.type == "prismatic"
        names += ["N s/m", "N s/m", "N", "N", "kg"] if slides else []
        names += [] if slides else ["N m s/rad", "N m s/rad", "N m", "N m", "kg m^2"]
    names += ["kg m^2"] * len(model.rotors)
    return np.array([units.parameter(name) for name in names])


@pytest.mark.parametrize("system", SYSTEMS)
def test_rules_do_not_depend_on_units(system):
    plain = robots.puma_560().model
    base = algorithms.base_parameters_by_rules(plain)
    found = algorithms.base_parameters_by_rules(SYSTEMS[system].model(plain))
    assert found.kept == base.kept and found.error < 1e-12
    unit = pi_units(SYSTEMS[system], plain)[: len(base.parameters)]
    expected = base.K * unit[list(base.kept)][:, None] / unit
    assert np.abs(found.K - expected).max() <= 1e-9 * np.abs(expected).max()


def test_narrow_limits_and_a_far_base_change_nothing():
    plain = robots.puma_560().model
    narrow = tuple(
        dataclasses.replace(x, limits=dataclasses.replace(x.limits, lower=0.3, upper=0.301))
        for x in plain.joints
    )
    M = plain.M_pi.copy()
    M[0, :3, 3] += (1e4, -2e4, 3e4)
    base = algorithms.base_parameters(plain)
    found = algorithms.base_parameters(plain.replace(joints=narrow, M_pi=M))
    assert found.kept == base.kept and found.count == base.count
    assert np.array_equal(found.K != 0, base.K != 0)


def test_the_rank_is_where_singular_values_fall_most():
    rng = np.random.default_rng(0)
    U, V = (np.linalg.qr(rng.normal(size=(k, 6)))[0] for k in (20, 6))
    for s, rank in (
        ([1, 0.5, 0.1, 0.01, 1e-3, 1e-5], 6),
        ([1, 0.5, 0.1, 1e-3, 1e-15, 1e-16], 4),
        ([1, 0.5, 1e-5, 1e-6, 1e-12, 1e-13], 4),
    ):
        assert base_module.rank_of(np.array(s, float))[0] == rank
        W = U * np.array(s) @ V.T
        kept, K, gap = base_module.independent_columns(W, range(6))
        assert len(kept) == rank and gap > 100
        assert np.abs(W[:, kept] @ K - W).max() < 1e-8
    assert base_module.rank_of(10.0 ** -np.arange(14.0))[1] < 11  # nothing falls more than the rest


def test_formulas_of_the_double_pendulum_are_those_of_the_books():
    model = robots.planar_2r().model
    base = algorithms.base_parameters(model)
    assert base.formulas()[:6] == [
        "hx[link1] + m[link2]",
        "hy[link1]",
        "Izz[link1] + m[link2] + armature[joint1]",
        "hx[link2]",
        "hy[link2]",
        "Izz[link2]",
    ]
    assert "m[link1]" in map(str, base.without_effect)


def test_formulas_keep_symbols():
    """With links of length l1: m2 l1^2 joins the inertia of link 1, m2 l1 its first moment."""
    sympy = pytest.importorskip("sympy")
    l1 = sympy.Symbol("l1", positive=True)
    model = robots.planar_2r().model.astype(sympy.nsimplify)
    M = model.M_pi.copy()
    M[1, 0, 3] = l1
    base = algorithms.base_parameters_by_rules(model.replace(M_pi=M))
    assert base.count == 6 and np.isnan(base.error)
    assert base.formulas()[0] == "hx[link1] + (l1) m[link2]"
    assert base.formulas()[2] == "Izz[link1] + (l1**2) m[link2]"


def test_what_makes_no_sense_is_refused():
    model = robots.planar_2r().model
    with pytest.raises(kt.KinetreeError, match=r"groups is \['wheel'\]"):
        algorithms.base_parameters(model, groups=["wheel"])
    assert algorithms.base_parameters(model, groups=["rotor"]).count == 0  # it has none
    pi = algorithms.parameters(model)
    pi[0] = 0
    with pytest.raises(kt.KinetreeError, match=r"'link1' has mass 0 but a first moment"):
        algorithms.with_parameters(model, pi)
    with pytest.raises(kt.KinetreeError, match=r"pi must have shape \(30,\)"):
        algorithms.with_parameters(model, pi[:3])
