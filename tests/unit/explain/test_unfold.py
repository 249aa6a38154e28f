"""Unfolded joint forces add up: leaves to the force, terms to the shares, links to their bodies."""

import json
import math
from functools import cache

import numpy as np
import pytest

import kinetree as kt
from changed_robots import renumbered
from closed_loops import four_bar, four_bar_position, tied_robot
from kinetree import algorithms
from kinetree.algorithms import FORMULATIONS
from kinetree.errors import InputError
from kinetree.explain import (
    explain,
    packed,
    recursion_steps,
    unfold_mass,
    unfold_torque,
    unfold_vector,
)
from kinetree.explain.node import LINES, code_line
from kinetree.explain.torque import massless
from kinetree.explain.unfold import unfolding
from kinetree.model.samples import ALL_TYPES, random_model
from robot_states import EPS, any_robot, random_state

ROBOTS = range(50)
BODIES = ("inertia", "Coriolis", "centrifugal", "gravity", "base")
AGREED = 4 * EPS  # of the sum of the sizes of all leaves


@cache
def case(seed):
    """A robot of up to six joints of all types with drives, its state, and all torques unfolded."""
    model = any_robot(seed, 6)
    state = random_state(model, seed)
    found = unfolding(model, *state.motion, **state.all)
    return model, state, [found.torque(dof) for dof in range(model.n)]


def leaves(node):
    return [leaf.value for leaf in node.leaves()]


def size(node):
    return math.fsum(map(abs, leaves(node)))


def is_sum(node, value):
    return abs(math.fsum(leaves(node)) - value) <= AGREED * size(node)


@pytest.mark.parametrize("seed", ROBOTS)
def test_leaves_of_every_torque_add_up_to_it(seed):
    model, state, trees = case(seed)
    tau = algorithms.inverse_dynamics(model, *state.motion, **state.all)  # the code of the kernels
    for dof, tree in enumerate(trees):
        assert is_sum(tree, tree.value) and is_sum(tree, float(tau[dof]))


@pytest.mark.parametrize("seed", [2, 36])
def test_leaves_add_up_to_the_torque_of_the_compiled_kernel(seed):
    model, state, _ = case(seed)
    tau = kt.Robot(model).inverse_dynamics(*state.motion, F_ext=state.F_ext)
    found = unfolding(model, *state.motion, state.F_ext)
    assert all(is_sum(found.torque(dof), float(tau[dof])) for dof in range(model.n))


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_leaves_add_up_to_the_torque_of_every_formulation(formulation):
    for seed in (4, 9):
        model, state, _ = case(seed)
        found = unfolding(model, *state.motion, state.F_ext, formulation=formulation)
        files = {node.code.file for node in found.torque(0).leaves() if node.code}
        for dof in range(model.n):
            tree = found.torque(dof)
            assert is_sum(tree, tree.value)
            files |= {x.code.file for term in tree.children for x in term.children if x.code}
        assert f"algorithms/textbook/{formulation}.py" in files


@pytest.mark.parametrize("seed", range(0, 50, 4))
def test_terms_are_the_shares_of_the_explanation(seed):
    model, state, trees = case(seed)
    shares = explain(model, *state.motion, **state.all).torque.shares
    for dof, tree in enumerate(trees):
        terms = {node.name: node.value for node in tree.children}
        assert set(terms) <= set(shares)
        for name, share in shares.items():
            assert abs(terms.get(name, 0) - share[dof]) <= 1e-13 * size(tree)


@pytest.mark.parametrize("seed", range(1, 50, 5))
def test_the_share_of_a_link_is_the_torque_of_a_robot_with_its_body_alone(seed):
    model, state, trees = case(seed)
    base = {"V_base": state.V_base, "dV_base": state.dV_base}
    empty = massless(model)
    for k, link in enumerate(model.link_names):
        m, com, I_com = np.array(empty.m, float), np.array(empty.com), np.array(empty.I_com)
        m[k] = model.m[k]
        com, I_com = com.astype(float), I_com.astype(float)
        com[k], I_com[k] = model.com[k], model.I_com[k]
        only = model.replace(m=m, com=com, I_com=I_com)
        tau = _bodies(only, state, base)
        for dof, tree in enumerate(trees):
            assert abs(_of_link(tree, link) - tau[dof]) <= 1e-12 * size(tree)


def _bodies(model, state, base):
    """Joint forces of the links alone."""
    found = explain(model, *state.motion, **base).torque
    return sum(found.shares[name] for name in BODIES)


def _of_link(tree, link):
    """The share of one link in all terms of bodies."""
    found = []
    for term in tree.children:
        if term.name in BODIES:
            rows = [term] if term.name == "gravity" else term.children
            found += [x.value for row in rows for x in row.children if x.name == link]
    return math.fsum(found)


@pytest.mark.parametrize("seed", [3, 8, 21])
def test_numbers_of_joints_and_links_do_not_matter(seed):
    model, state, trees = case(seed)
    model = model.replace(springs=())  # which records of a robot do not have
    other = renumbered(model, np.random.default_rng(seed))
    q = [state.q[model.coordinate_names.index(x)] for x in other.coordinate_names]
    order = [model.dof_names.index(x) for x in other.dof_names]
    found = unfolding(other, q, state.dq[order], state.ddq[order])
    base = unfolding(model, *state.motion)
    for dof, k in enumerate(order):
        for link in model.link_names:
            a, b = _of_link(found.torque(dof), link), _of_link(base.torque(k), link)
            assert abs(a - b) <= 1e-12 * size(trees[k])


@pytest.mark.parametrize("seed", range(0, 50, 7))
def test_entries_of_the_mass_matrix_add_up(seed):
    model, state, _ = case(seed)
    M = algorithms.mass_matrix(model, state.q)
    for i in range(min(model.n, 4)):
        for j in range(model.n):
            node = unfold_mass(model, state.q, i, model.dof_names[j])
            assert abs(math.fsum(leaves(node)) - M[i, j]) <= AGREED * size(node) + 1e-300


@pytest.mark.parametrize("seed", range(0, 50, 9))
def test_vectors_of_the_recursion_add_up_down_to_the_last_links(seed):
    model, state, _ = case(seed)
    for i, link in enumerate(model.link_names):
        for symbol in ("V", "dV", "F"):
            node = unfold_vector(model, *state.motion, link, symbol, **state.all)
            rows = np.array([leaf.value for leaf in node.leaves()])
            error = abs(rows.sum(0) - node.value)
            assert (error <= 16 * EPS * np.abs(rows).sum()).all()
        names = {x.name for x in node.children}
        assert {f"child {model.link_names[c]}" for c in model.children[i]} <= names


@pytest.mark.parametrize("seed", [5, 8, 12])
def test_springs_and_every_law_of_friction_are_leaves(seed):
    model = random_model(seed, 6, types=ALL_TYPES, mimic=True, springs=True, laws=True)
    state = random_state(model, seed)
    found = unfolding(model, *state.motion, **state.all)
    tau = algorithms.inverse_dynamics(model, *state.motion, **state.all)
    trees = [found.torque(dof) for dof in range(model.n)]
    assert all(is_sum(tree, float(tau[dof])) for dof, tree in enumerate(trees))
    causes = {term.name for tree in trees for term in tree.children}
    assert {"spring", "friction", "rotor", "external"} <= causes


@pytest.mark.parametrize("make", [0, 3, "four_bar"])
def test_forces_of_constraints_are_leaves_too(make):
    if make == "four_bar":
        robot = four_bar()
        q = four_bar_position(robot, 0.4)
        dq, ddq = np.zeros((2, 3))
    else:
        robot, given, q = tied_robot(make)
        robot, (dq, ddq) = robot.constrained(given), np.zeros((2, robot.n))
    found = unfolding(robot.model, q, dq, ddq)
    causes = set()
    for dof in range(robot.n):
        tree = found.torque(dof)
        causes |= {node.name for node in tree.children}
        assert is_sum(tree, tree.value)
    assert "constraints" in causes


def test_long_robots_unfold_into_links_and_not_all_at_once(monkeypatch):
    """Products of rates are then summed, squares apart; nothing else changes."""
    model, state, trees = case(16)
    monkeypatch.setattr("kinetree.explain.unfold.MAX_PAIRS", 0)
    found = unfolding(model, *state.motion, **state.all)
    for dof, tree in enumerate(trees):
        other = found.torque(dof)
        assert {x.name for x in other["Coriolis"].children} <= set(model.link_names)
        for term in tree.children:
            assert abs(other[term.name].value - term.value) <= AGREED * size(tree)
    monkeypatch.setattr("kinetree.explain.unfold.MAX_SHARES", 10)
    explanation = explain(model, *state.motion)
    assert explanation.unfolded() == [] and "unfolded" not in explanation.html()


def test_every_line_of_code_is_found_in_the_source():
    from pathlib import Path

    for key in LINES:
        code = code_line(key)
        text = (Path(kt.__file__).parent / code.file).read_text().splitlines()
        assert text[code.line - 1].strip() == code.text, key


def test_each_child_is_one_marked_term_of_the_equation():
    _, _, trees = case(15)
    nodes = list(trees)
    for node in nodes:
        nodes.extend(node.children)
        names = [child.name for child in node.children]
        assert len(set(names)) == len(names)
        assert [node.equation.count(f'data-term="{x}"') for x in names] == [1] * len(names)


def test_one_state_by_hand():
    """A point mass of 2 kg on an arm of 0.5 m, at rest and level: its weight times the arm."""
    builder = kt.Builder("arm").link("base").link("rod", 2, (0.5, 0, 0))
    builder.joint("hinge", "revolute", "base", "rod", axis=(0, -1, 0))
    tree = unfold_torque(builder.build_model(), [0], [0], [0], "hinge")
    assert [term.name for term in tree.children] == ["gravity"]
    numbers = {x.name: x for x in tree["gravity"]["rod"].numbers}
    assert tree.value == pytest.approx(2 * 9.81 * 0.5, rel=1e-15) and tree.unit == "N m"
    assert numbers["mass"].value == 2 and numbers["arm from the axis"].value == (0.5, 0, 0)
    assert numbers["acceleration of the centre"].value == (0, 0, 9.81)
    assert numbers["acceleration of the centre"].frame == "{rod}"


def test_a_printed_tree_is_a_table_of_numbers_that_add_up():
    tree = kt.robots.planar_2r().explain([0.3, 0.7], [0.2, 0.15], [0.1, 0.15]).unfold("joint1")
    head, *lines = str(tree["inertia"]).splitlines()
    names = [line.rstrip("N m").rpartition("  ")[0].strip() for line in lines]
    assert names[0] == "acceleration of joint1" and names[1:3] == ["link1", "translation"]
    depth = {line: len(line) - len(line.lstrip()) for line in lines}
    terms = [float(line.split()[-3]) for line in lines if depth[line] == 2]
    assert math.fsum(terms) == pytest.approx(float(head.split()[-3]), abs=0.002)
    long = kt.robots.panda().explain(*np.full((3, 7), 0.3)).unfold(1)
    assert len(str(long).splitlines()) < 42 and "numbers below these" in str(long)


def test_json_data_has_all_nodes_or_reports_how_many_it_leaves_out():
    _, _, trees = case(15)
    data = json.loads(json.dumps(packed(trees), allow_nan=False))

    def count(node):
        return 1 + sum(map(count, node.get("children", [])))

    def total(node):
        below = node.get("children")
        return math.fsum(map(total, below)) if below else node["value"]

    for tree, node in zip(trees, data["trees"], strict=True):
        assert abs(total(node) - tree.value) <= AGREED * size(tree)
    everything = sum(map(count, data["trees"]))
    less = packed(trees, everything // 3)
    assert data["cut"] == 0
    assert sum(map(count, less["trees"])) + less["cut"] == everything


def test_steps_of_the_recursion_have_rows_that_add_up_and_are_marked():
    for seed in (4, 15):
        model, state, _ = case(seed)
        explanation = explain(model, *state.motion, **state.all)
        steps = recursion_steps(explanation)
        assert [x["link"] for x in steps] == [*model.links, *reversed(model.links)]
        for quantity in (x for step in steps for x in step["quantities"]):
            rows = np.array([row["values"] for row in quantity["rows"]])
            assert np.allclose(rows.sum(0), quantity["value"], rtol=0, atol=1e-12 * abs(rows).sum())
            for row in quantity["rows"]:
                assert quantity["mathml"].count(f'data-term="{row["term"]}"') == 1
        arrows = {x["kind"]: x["vector"] for x in steps[0]["quantities"][0]["arrows"]}
        R = np.asarray(explanation.recursion.T_si[0])[:3, :3]
        assert np.allclose(R.T @ arrows["omega"], explanation.recursion.V[0][:3])


def test_symbols_and_unknown_names_are_refused_in_words():
    sympy = pytest.importorskip("sympy")
    robot = kt.robots.planar_2r()
    q = sympy.symbols("a b")
    with pytest.raises(InputError, match="unfolding needs numbers"):
        unfold_torque(robot.model, q, [0, 0], [0, 0], 0)
    assert robot.explain(q, [0, 0], [0, 0]).unfolded() == []
    with pytest.raises(InputError, match=r"joint1, joint2"):
        robot.explain([0, 0], [0, 0], [0, 0]).unfold("joint3")
    with pytest.raises(InputError, match="V, dV, F"):
        unfold_vector(robot.model, [0, 0], [0, 0], [0, 0], "link1", "tau")
    with pytest.raises(InputError, match="link1, link2"):
        unfold_vector(robot.model, [0, 0], [0, 0], [0, 0], "link3", "V")
