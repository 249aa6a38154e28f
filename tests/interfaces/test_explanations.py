"""Explanations: every number is the sum of those below it, for random robots; forms show them."""

import json
import math
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import kinetree as kt
from kinetree import dynamics, explain
from robot_states import EPS, any_robot, random_state, relative

ROBOTS = range(16)
CLOSE = 1e-12


@cache
def explained(seed):
    """Up to 12 joints of any type, mimic joints, drives, wrenches, and a moving base."""
    model = any_robot(seed, 12)
    state = random_state(model, seed)
    return model, state, explain.explain(model, *state.motion, **state.all)


@pytest.mark.parametrize("seed", ROBOTS)
def test_parts_add_up(seed):
    model, state, found = explained(seed)
    tau = dynamics.inverse_dynamics(model, *state.motion, **state.all)
    assert relative(found.tau, tau) <= CLOSE and relative(found.torque.total, tau) <= CLOSE
    recursion = dynamics.newton_euler(model, **found.arguments)
    joint_forces = np.zeros(model.n)
    for steps, joint in zip(found.links, model.joints, strict=True):
        np.add.at(joint_forces, list(joint.dofs), steps["tau"].value)
        np.testing.assert_array_equal(steps.T_si, recursion.T_si[steps.link])
        for symbol, term in steps.terms.items():
            parts = [np.array(part.value) for part in term.children]
            size = max(sum(map(np.linalg.norm, parts)), 1)
            assert np.linalg.norm(sum(parts) - term.value) <= 60 * EPS * size
            if symbol != "tau":
                assert np.array_equal(term.value, getattr(recursion, symbol)[steps.link])
    size = max(sum(np.abs(x).max() for x in found.torque.shares.values()), 1)
    assert np.abs(joint_forces - tau).max() <= CLOSE * size


@pytest.mark.parametrize("seed", ROBOTS)
def test_shares_are_what_they_are_called(seed):
    """Each is computed in another way from the whole model."""
    model = any_robot(seed, 9)
    state = random_state(model, seed)
    q, dq, ddq = state.motion
    shares = explain.explain(model, q, dq, ddq, **state.wrenches).torque.shares
    zero = np.zeros(model.n)

    def tau(dq=zero, ddq=zero, gravity=False):
        own = model if gravity else kt.Robot.with_gravity(model, (0, 0, 0))
        return dynamics.inverse_dynamics(own, q, dq, ddq) - dynamics.friction_forces(own, dq)

    assert relative(shares["gravity"], dynamics.gravity_forces(model, q)) <= CLOSE
    assert relative(shares["friction"], dynamics.friction_forces(model, dq)) <= CLOSE
    external = dynamics.inverse_dynamics(model, q, dq, ddq, **state.wrenches)
    external = external - dynamics.inverse_dynamics(model, q, dq, ddq)
    size = sum(np.abs(x).max() for x in shares.values())
    assert np.abs(shares["external"] - external).max() <= CLOSE * size
    moving = shares["centrifugal"] + shares["Coriolis"] + shares["inertia"] + shares["rotor"]
    assert np.abs(moving - tau(dq, ddq)).max() <= CLOSE * size
    signs = np.where(np.arange(model.n) % 2, 1, -1)  # squares do not see the sign of a rate
    turned = explain.explain(model, q, dq * signs, ddq).torque.shares
    assert np.abs(turned["centrifugal"] - shares["centrifugal"]).max() <= CLOSE * size
    still = explain.explain(model, q, zero, ddq).torque.shares
    assert np.abs(still["Coriolis"]).max() <= CLOSE * size
    assert np.abs(still["inertia"] - shares["inertia"]).max() <= CLOSE * size


def test_a_slider_on_a_turning_arm_by_hand():
    """Coriolis 2 m r dq dr on the arm, centrifugal -m r dq^2 on the slider."""
    m, r = 3.0, 2.0
    builder = kt.Builder("rp", gravity=(0, 0, 0)).link("base").link("arm").link("slider", m)
    builder.joint("turn", "revolute", "base", "arm")
    builder.joint("slide", "prismatic", "arm", "slider", axis=(1, 0, 0))
    torque = builder.build().explain([0.4, r], [5.0, 7.0], [11.0, 13.0]).torque
    assert torque["Coriolis"] == pytest.approx([2 * m * r * 5 * 7, 0], rel=1e-14, abs=1e-13)
    assert torque["centrifugal"] == pytest.approx([0, -m * r * 25], rel=1e-14, abs=1e-13)
    assert torque["inertia"] == pytest.approx([m * r * r * 11, m * 13], rel=1e-14)
    assert torque.units == ("N m", "N") and torque.names == ("turn", "slide")


@pytest.mark.parametrize("name", ["four_bar", "slider_crank", "delta"])
def test_constraints_do_no_work_and_have_a_share(name):
    robot = getattr(kt.robots, name)()
    q = kt.dynamics.start_position(robot)
    dq = kt.constraints.project_rates(robot, q, np.ones(robot.n))
    ddq = kt.constraints.project_accelerations(robot, q, dq, np.ones(robot.n))
    found = robot.explain(q, dq, ddq)
    assert relative(found.torque.total, found.tau) <= 1e-9
    free = kt.constraints.unconstrained(robot).explain(q, dq, ddq).torque
    size = sum(np.abs(x).max() for x in free.shares.values())
    for cause in ("inertia", "gravity", "centrifugal"):
        assert np.abs(found.torque[cause] - free[cause]).max() <= CLOSE * size
    assert abs(found.torque["constraints"] @ dq) <= 1e-9 * size


def adds_up(node):
    """Every number of a tree is the sum of its children."""
    values = [np.atleast_1d(np.asarray(child.value, float)) for child in node.children]
    if values:
        total = [math.fsum(column) for column in np.transpose(values)]
        size = np.abs(values).sum()
        np.testing.assert_allclose(node.value, np.squeeze(total), rtol=0, atol=60 * EPS * size)
    return all(map(adds_up, node.children))


@pytest.mark.parametrize("seed", [1, 3, 4, 7, 10])
def test_unfolded_numbers_add_up(seed):
    model = any_robot(seed, 6)
    state = random_state(model, seed)
    tau = dynamics.inverse_dynamics(model, *state.motion, **state.all)
    found = explain.explain(model, *state.motion, **state.all)
    for dof in range(model.n):
        tree = found.unfold(dof)
        assert adds_up(tree) and tree.value == pytest.approx(tau[dof], abs=1e-11)
        leaves = [leaf.value for leaf in tree.leaves()]
        assert abs(math.fsum(leaves) - tree.value) <= 4 * EPS * math.fsum(map(abs, leaves))
    M = dynamics.mass_matrix(model, state.q)
    recursion = dynamics.newton_euler(model, *state.motion, **state.all)
    for row in range(model.n):
        tree = explain.unfold_mass(model, state.q, row, 0)
        assert adds_up(tree) and tree.value == pytest.approx(M[row, 0], abs=1e-11)
    for symbol in ("V", "dV", "F"):
        tree = found.unfold_vector(0, symbol)
        assert adds_up(tree)
        np.testing.assert_allclose(tree.value, getattr(recursion, symbol)[0], atol=1e-11)


def numbers(text):
    """Numbers of a text, typographic minus signs included."""
    return {abs(float(x)) for x in re.findall(r"\d+\.\d+", text)}


@pytest.mark.parametrize("form", ["text", "html"])
def test_every_form_shows_the_joint_forces_and_their_causes(form):
    robot = kt.robots.rp()
    found = robot.explain([0.3, 0.5], [1, -0.5], [1, 2])
    text = getattr(found, form)()
    shown = numbers(re.sub(r"<script.*?</script>|<style.*?</style>", "", text, flags=re.S))
    for values in (found.tau, found.torque["gravity"], found.torque["Coriolis"]):
        for value in values:
            size = abs(value)
            assert size < 1e-9 or any(abs(size - x) <= 5e-3 * size for x in shown), (form, value)
    assert all(name in text for name in ("centrifugal", "gravity"))


def test_names_are_text_in_every_form():
    name = "<b>&|$_"
    builder = kt.Builder(name).link("base").link(name, 1, (0.3, 0, 0))
    builder.joint(name, "revolute", "base", name)
    found = builder.build().explain([0.1], [1.0], [1.0])
    assert "<b>&" not in found.html() and "&lt;b&gt;&amp;" in found.html()


def nodes(tree):
    yield tree
    for child in tree.children:
        yield from nodes(child)


def test_numbers_name_the_lines_that_compute_them():
    """Lines are found by markers in the source, not by their text."""
    found = {}
    for seed in ROBOTS:
        model, state, explanation = explained(seed)
        trees = [*explanation.unfolded(), explanation.unfold_vector(0, "F")]
        trees += [explain.unfold_mass(model, state.q, row, row) for row in range(model.n)]
        for node in (x for tree in trees for x in nodes(tree) if x.code is not None):
            found[node.code] = node.name
    assert len(found) >= 12
    root = Path(kt.__file__).parent
    for code in found:
        line = (root / code.file).read_text("utf8").splitlines()[code.line - 1]
        assert line.strip().startswith(code.text) and ("=" in code.text or "return" in code.text)
    assert any(code.text.startswith("F[i] = G @ dV[i]") for code in found)


def test_packed_trees_have_all_numbers_or_count_what_they_leave_out():
    model = kt.robots.panda().model
    state = random_state(model, 1)
    tree = explain.explain(model, *state.motion).unfold(1)
    whole, part = explain.packed([tree]), explain.packed([tree], most=10)
    assert len(json.dumps(part)) < len(json.dumps(whole))


def test_symbols_are_explained_and_equal_numbers_after_substitution():
    sympy = pytest.importorskip("sympy")
    robot = kt.robots.planar_2r()
    symbols = sympy.symbols("q1 q2 dq1 dq2 ddq1 ddq2")
    values = dict(zip(symbols, (0.3, 0.5, 1.0, -0.5, 1.0, 2.0), strict=True))
    q, dq, ddq = (np.array(symbols[k : k + 2], dtype=object) for k in (0, 2, 4))
    found = explain.explain(robot.model, q, dq, ddq)
    exact = robot.explain([0.3, 0.5], [1.0, -0.5], [1.0, 2.0])
    for cause, share in exact.torque.shares.items():
        put = [float(sympy.sympify(x).subs(values)) for x in found.torque[cause]]
        np.testing.assert_allclose(put, share, atol=1e-11)
