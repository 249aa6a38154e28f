"""kt.symbolic: which numbers become symbols, what it refuses, and that SymPy is optional."""

import pickle
import sys

import numpy as np
import pytest

sympy = pytest.importorskip("sympy")

import kinetree as kt  # noqa: E402
from kinetree import Builder  # noqa: E402
from kinetree.errors import KinetreeError  # noqa: E402


def names(s):
    return {symbol.name for symbol in s.parameters}


def test_inertial_parameters_become_symbols_and_zeros_stay():
    s = kt.symbolic(kt.robots.planar_2r(), parameters="inertial")
    assert names(s) == {"m1", "m2", "c1x", "c2x", "I1yy", "I1zz", "I2yy", "I2zz"}
    assert s.values[sympy.Symbol("m1", positive=True)] == 22
    assert s.values[sympy.Symbol("c2x", real=True)] == sympy.Rational(2, 5)


def test_several_places_on_one_link_have_lengths_of_their_own():
    builder = Builder("fork").link("base").link("a", 1.0).link("b", 1.0).link("c", 1.0)
    builder.joint("j1", "revolute", "base", "a").joint("j2", "revolute", "a", "b", at=(1.0, 0, 0.5))
    builder.joint("j3", "revolute", "a", "c", at=(-1.0, 0, 0))
    s = kt.symbolic(builder.build_model(), "lengths")
    assert names(s) == {"L12x", "L12z", "L13x"}
    assert s.model.M_pi[2][0, 3] == -sympy.Symbol("L13x", positive=True)


def test_drives_and_friction_become_symbols():
    model = kt.Builder("drive").link("base").link("arm", 1.0, (0.5, 0, 0)).joint(
        "j1", "revolute", "base", "arm", armature=0.01,
        friction=kt.friction.Friction((0.1, 0.2), 0.3),
        rotor=kt.joints.Rotor(1e-4, 50)).build_model()  # fmt: skip
    s = kt.symbolic(model, ("friction", "drives"))
    assert names(s) == {"b1p", "b1n", "f1", "Ia1", "Im1", "r1"}
    q, dq, ddq = [0.2], [-0.7], [1.1]
    expected = kt.dynamics.inverse_dynamics(model, q, dq, ddq)
    assert s.evaluate("tau", q, dq, ddq) == pytest.approx(expected, rel=1e-14)


def test_names_of_joints_follow_their_kind():
    s = kt.symbolic(kt.robots.scara())
    assert [x.name for x in s.q] == ["theta1", "theta2", "d3", "theta4"]
    assert [x.name for x in s.dq][2:] == ["d3_dot", "theta4_dot"]
    assert sympy.latex(s.dq[2]) == r"\dot{d}_{3}" and sympy.latex(s.ddq[2]) == r"\ddot{d}_{3}"
    assert [x.name for x in s.ddq][2:] == ["d3_ddot", "theta4_ddot"]
    assert pickle.loads(pickle.dumps(s.dq)) == list(s.dq)
    free = kt.Builder("ball").link("base").link("ball", 1.0).joint("j", "free", "base", "ball")
    found = kt.symbolic(free.build_model())
    assert [x.name for x in found.q][:4] == ["qw1", "qx1", "qy1", "qz1"]
    assert [x.name for x in found.ddq][:1] == ["wx1_dot"]


def test_without_sympy_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "sympy", None)
    with pytest.raises(KinetreeError, match=r"kinetree\[symbolic\]") as found:
        kt.symbolic(kt.robots.rp())
    assert isinstance(found.value, ImportError)


def test_rotations_taken_as_meant_are_noted():
    turn = kt.spatial.pose(kt.spatial.rpy(0, 1.57079632679, 0), np.zeros(3))
    model = kt.Builder("file").link("base").link("arm", 1.0).joint(
        "j1", "revolute", "base", "arm", at=turn).build_model()  # fmt: skip
    s = kt.symbolic(model)
    assert any("joint 'j1'" in note.text for note in s.notes)
    assert s.T[0, 2] == 1 and kt.symbolic(model, snap=0).T[0, 2] != 1
    assert not kt.symbolic(kt.robots.puma_560()).notes


def test_a_robot_that_cannot_move_has_a_pose():
    model = kt.Builder("post").link("base", 1.0).build_model()
    s = kt.symbolic(model)
    assert s.T == sympy.eye(4) and s.M.shape == (0, 0) and s.tau.shape[0] == 0
