"""Parts of every intermediate add up to it, for random robots with everything on them."""

from functools import cache

import numpy as np
import pytest

import kinetree as kt
from kinetree import algorithms
from kinetree.algorithms import FORMULATIONS
from kinetree.errors import InputError, NameLookupError
from kinetree.explain import explain
from robot_states import EPS, any_robot, random_state

SIX = ("V", "dV", "F")
THREE = ("omega", "v", "alpha", "a_e", "a_c", "f", "n")
SYMBOLS = {"screw": SIX, "closed": SIX, "link": THREE, "space": THREE}


@cache
def explained(seed: int, formulation: str, most: int = 30):
    model = any_robot(seed, most)
    state = random_state(model, seed)
    return explain(model, *state.motion, **state.all, formulation=formulation)


def assert_parts_add_up(explanation):
    """To rounding: each of the at most 30 links on the way adds a few eps of what is added up."""
    for steps in explanation.links:
        F = sum(np.linalg.norm(part) for part in _wrenches(steps))
        for symbol, term in steps.terms.items():
            size = sum(np.linalg.norm(part.value) for part in term.parts)
            if symbol == "tau":  # a small part of a large wrench: its rounding is the wrench's
                size = size + F * np.linalg.norm(explanation.model.A[steps.link])
            error = np.linalg.norm(term.total - term.value)
            assert error <= 60 * EPS * max(size, 1e-300), (steps.name, symbol)


def _wrenches(steps):
    terms = [steps["F"]] if "F" in steps.terms else [steps["f"], steps["n"]]
    return [part.value for term in terms for part in term.parts]


@pytest.mark.parametrize("block", range(3))
def test_parts_and_shares_add_up_for_30_random_robots(block):
    """1 to 30 joints of any type, mimic joints, drives, wrenches, a moving base; each form."""
    for seed in range(10 * block, 10 * block + 10):
        explanation = explained(seed, list(FORMULATIONS)[seed % 4])
        assert_parts_add_up(explanation)
        torque = explanation.torque
        size = sum(np.abs(x).max() for x in torque.shares.values())
        assert np.abs(torque.total - explanation.tau).max() <= 60 * EPS * size


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("seed", range(8))
def test_every_form_of_one_robot(seed, formulation):
    explanation = explained(seed, formulation, 8)
    assert_parts_add_up(explanation)
    record = algorithms.newton_euler(
        explanation.model, **explanation.arguments, formulation=formulation
    )
    for steps in explanation.links:
        assert tuple(steps.terms) == ("T", *SYMBOLS[formulation], "tau")
        for symbol in SYMBOLS[formulation]:
            assert np.array_equal(steps[symbol].value, getattr(record, symbol)[steps.link])
    assert np.array_equal(explanation.tau, record.tau)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("seed", [3, 6, 9, 12])
def test_joints_that_move_together_share_their_force(seed, formulation):
    """tau of a degree of freedom is what all joints that follow it need together."""
    explanation = explained(seed, formulation)
    model = explanation.model
    tau = np.zeros(model.n)
    for steps, joint in zip(explanation.links, model.joints, strict=True):
        np.add.at(tau, list(joint.dofs), steps["tau"].value)
    size = sum(np.abs(x).max() for x in explanation.torque.shares.values())
    assert np.abs(tau - explanation.tau).max() <= 60 * EPS * size


def test_the_parts_are_what_they_are_called():
    """A hanging pendulum at rest, then turning: gravity, rate and velocity product by hand."""
    builder = kt.Builder("p", gravity=(0, -10, 0)).link("base").link("arm", 2, (0.5, 0, 0))
    builder.joint("j", "revolute", "base", "arm", friction=kt.Friction(0.25), armature=3)
    robot = builder.build()
    arm = robot.explain([0.0], [4.0], [5.0], [[0, 0, 7, 0, 0, 0]])["arm"]
    assert arm["V"]["joint rate"].tolist() == [0, 0, 4, 0, 0, 0]
    assert arm["V"]["parent"].tolist() == [0] * 6
    assert arm["dV"]["gravity"].tolist() == [0, 0, 0, 0, 10, 0]
    assert arm["dV"]["joint acceleration"].tolist() == [0, 0, 5, 0, 0, 0]
    assert arm["F"]["gravity"].tolist() == [0, 0, 10, 0, 20, 0]
    assert arm["F"]["acceleration"].tolist() == [0, 0, 2.5, 0, 5, 0]
    assert arm["F"]["velocity product"].tolist() == [0, 0, 0, -16, 0, 0]
    assert arm["F"]["external wrench"].tolist() == [0, 0, -7, 0, 0, 0]
    assert arm["tau"]["friction"].tolist() == [1]
    assert arm["tau"]["rotor and armature"].tolist() == [15]
    assert arm["tau"].value.tolist() == [10 + 2.5 - 7 + 1 + 15]


def test_gravity_never_hides_in_other_parts():
    """At rest everything but gravity is exactly zero."""
    model = any_robot(7)
    rest = np.zeros(model.n)
    q = algorithms.random(model, np.random.default_rng(0))
    for formulation in FORMULATIONS:
        explanation = explain(model, q, rest, rest, formulation=formulation)
        for steps in explanation.links:
            for symbol in ("dV", "F", "a_e", "a_c", "f", "n"):
                for part in steps.terms[symbol].parts if symbol in steps.terms else ():
                    if part.name != "gravity" and not part.name.startswith("child "):
                        assert not part.value.any(), (formulation, symbol, part.name)


def test_children_and_rotors_are_named():
    explanation = explained(14, "screw")
    model = explanation.model
    for i, steps in enumerate(explanation.links):
        kids = [f"child {model.link_names[c]}" for c in model.children[i]]
        assert [name for name in steps["F"].names if name.startswith("child ")] == kids
        assert steps["F"]["rotors"].any() == any(r.link == i for r in model.rotors)


def test_every_part_has_an_equation():
    for formulation in FORMULATIONS:
        for steps in explained(14, formulation).links:
            for term in steps.terms.values():
                for part in term.parts:
                    assert part.equation and part.latex
                    assert part.latex.count("{") == part.latex.count("}")


def test_armature_of_a_free_joint_resists_the_turning_of_its_axes_as_well():
    builder = kt.Builder("ship").link("world").link("hull", 2, (0, 0, 0), np.eye(3))
    model = builder.joint("float", "free", "world", "hull", armature=0.5).build_model()
    dq, ddq = np.arange(1.0, 7), np.arange(6.0)
    explanation = explain(model, [1, 0, 0, 0, 0, 0, 0], dq, ddq)
    part = next(p for p in explanation.links[0]["tau"].parts if p.name == "rotor and armature")
    turning = np.concatenate([np.zeros(3), np.cross(dq[:3], dq[3:])])
    assert part.value == pytest.approx(0.5 * (ddq + turning))
    assert "w x v" in part.equation
    assert explanation.torque["rotor"] == pytest.approx(part.value)
    assert explanation.torque.total == pytest.approx(explanation.torque.tau)


def test_unknown_names_are_answered_with_the_known_ones():
    explanation = kt.robots.planar_2r().explain([0, 0], [0, 0], [0, 0])
    for bad, match in (
        (lambda: explanation["hand"], "no link 'hand'; there are link1, link2"),
        (lambda: explanation["link1"]["W"], "no quantity 'W'; there are T, V, dV, F, tau"),
        (lambda: explanation[0]["V"]["moon"], "no part 'moon'; there are parent, joint rate"),
        (lambda: explanation.torque["moon"], "no share 'moon'; there are inertia"),
    ):
        with pytest.raises(NameLookupError, match=match):
            bad()
    with pytest.raises(InputError, match="formulation 'magic'; choose screw"):
        kt.robots.planar_2r().explain([0, 0], [0, 0], [0, 0], formulation="magic")


def test_a_robot_without_joints_is_explained_in_few_words():
    explanation = explain(kt.Builder("post").link("base").build_model(), [], [], [])
    assert explanation.links == () and explanation.tau.shape == (0,)
    assert "post" in explanation.text() and "post" in explanation.html()
