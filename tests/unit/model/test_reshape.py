"""Robots with locked joints, parts of robots, tools and attached robots move as the whole does."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinetree import Builder, Robot, dynamics, load_string
from kinetree.errors import InputError, ModelError, ShapeError
from kinetree.joints import Mimic, Rotor
from kinetree.model import WORLD
from random_robots import ALL_TYPES, random_body, random_model, random_pose
from robot_states import EPS, any_robot, random_state, relative

PRODUCTS = "ixy='0' ixz='0' iyz='0'"
MASS = f"<inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1' {PRODUCTS}/></inertial>"
SEEDS = st.integers(0, 10**6)
ROUNDING = 2000 * EPS  # merged inertias go through up to 30 changes of frame


def arm(**rotor):
    """Two links on revolute joints, a hand fixed to the second."""
    builder = Builder("arm").link("base", 1).link("upper", 2, (0, 0, 0.2)).link("lower", 1)
    builder.link("hand", 0.5).joint("shoulder", "revolute", "base", "upper", axis=(0, 1, 0))
    builder.joint("elbow", "revolute", "upper", "lower", at=(0, 0, 0.4), axis=(0, 1, 0), **rotor)
    return builder.joint("wrist", "fixed", "lower", "hand", at=(0, 0, 0.3)).build_model()


def lock(model, values):
    return Robot(model).lock(values).model


def subtree(model, link):
    return Robot(model).subtree(link).model


def attach(model, other, frame=None, prefix=""):
    return Robot(model).attach(Robot(other), frame, prefix).model


def entries(part, whole, names):
    """Where each entry of the part's vectors stands in those of the whole."""
    return [getattr(whole, names).index(name) for name in getattr(part, names)]


def some_joints(model, rng):
    """A random half of the joints that move by themselves."""
    return [name for name in model.joint_names if rng.random() < 0.5]


def wrenches(model, rng):
    return {name: rng.normal(size=6) for name in model.frames}


@settings(max_examples=60)
@given(SEEDS)
def test_locked_robots_move_like_the_whole_with_those_joints_at_rest(seed):
    rng = np.random.default_rng(seed)
    model = any_robot(seed, 16)
    x = random_state(model, seed)
    names = some_joints(model, rng)
    values = {name: x.q[list(model.joint(name).coords)] for name in names}
    values = {k: v if len(v) > 1 else float(v[0]) for k, v in values.items()}
    locked = lock(model, values)
    coords = entries(locked, model, "coordinate_names")
    dofs = entries(locked, model, "dof_names")
    assert locked.n == model.n - sum(len(model.joint(name).dofs) for name in names)
    dq, ddq = np.zeros(model.n), np.zeros(model.n)
    dq[dofs], ddq[dofs] = x.dq[dofs], x.ddq[dofs]
    rest = {"F_tip": wrenches(model, rng), "V_base": x.V_base, "dV_base": x.dV_base}
    tau = dynamics.inverse_dynamics(model, x.q, dq, ddq, **rest)[dofs]
    found = dynamics.inverse_dynamics(locked, x.q[coords], dq[dofs], ddq[dofs], **rest)
    assert relative(found, tau) < ROUNDING
    M = dynamics.mass_matrix(model, x.q)[np.ix_(dofs, dofs)]
    assert relative(dynamics.mass_matrix(locked, x.q[coords]), M) < ROUNDING
    for frame in model.frames:
        T = dynamics.pose(model, x.q, frame)
        assert relative(dynamics.pose(locked, x.q[coords], frame), T) < ROUNDING


def test_followers_are_locked_with_their_source():
    builder = Builder("hand").link("palm").link("thumb", 1).link("finger", 1)
    builder.joint("a", "revolute", "palm", "thumb", axis=(1, 0, 0))
    builder.joint("b", "revolute", "thumb", "finger", mimic=Mimic("a", 2, 0.1))
    model = builder.build_model()
    locked = lock(model, {"a": 0.3})
    assert locked.n == 0
    T = dynamics.pose(model, [0.3], "finger")
    np.testing.assert_allclose(locked.frame("finger").T_if, T, atol=1e-15)
    with pytest.raises(ModelError, match=r"'b' follows 'a'.*Lock 'a'"):
        lock(model, {"b": 0.3})


def test_a_locked_quarter_turn_leaves_exact_zeros():
    locked = lock(arm(), {"elbow": np.pi / 2})
    assert set(np.ravel(locked.frame("lower").T_if[:3, :3])) == {-1, 0, 1}


def test_locking_accepts_symbols():
    import sympy

    angle = sympy.Symbol("angle")
    locked = lock(arm(), {"elbow": angle})
    T = lock(arm(), {"elbow": 0.5}).frame("lower").T_if
    found = locked.frame("lower").T_if
    np.testing.assert_allclose([float(x.subs(angle, 0.5)) for x in found[0]], T[0], atol=1e-16)


def test_the_quaternion_of_a_locked_joint_has_length_one():
    model = random_model(1, 1, types=("spherical",))
    with pytest.raises(InputError):
        lock(model, {"joint1": [2, 0, 0, 0]})
    with pytest.raises(ShapeError):
        lock(model, {"joint1": 1.0})


@settings(max_examples=40)
@given(SEEDS)
def test_a_subtree_moves_like_the_whole_on_a_base_at_rest(seed):
    """In the axes of the link, gravity is R^T g."""
    rng = np.random.default_rng(seed)
    model = any_robot(3 * seed + 1, 16)  # without mimic joints, which may lead out of the part
    x = random_state(model, seed)
    link = model.link_names[int(rng.integers(len(model.links)))]
    part = subtree(model, link)
    dofs, coords = (entries(part, model, names) for names in ("dof_names", "coordinate_names"))
    T = dynamics.pose(model, x.q, link)
    part = Robot.with_gravity(part, T[:3, :3].T @ model.gravity[3:])
    dq, ddq = np.zeros(model.n), np.zeros(model.n)
    dq[dofs], ddq[dofs] = x.dq[dofs], x.ddq[dofs]
    tau = dynamics.inverse_dynamics(model, x.q, dq, ddq)[dofs]
    found = dynamics.inverse_dynamics(part, x.q[coords], dq[dofs], ddq[dofs])
    assert np.abs(found - tau).max(initial=0) <= 1e-12 * max(1, np.abs(tau).max(initial=0))
    for name in part.frames:
        seen = T @ dynamics.pose(part, x.q[coords], name)
        assert relative(seen, dynamics.pose(model, x.q, name)) < ROUNDING
    assert part.base_name == link


def test_a_subtree_keeps_the_components_of_gravity_and_its_tool():
    model = arm()
    part = subtree(model, "upper")
    assert part.joint_names == ("elbow",) and part.tool == model.tool == "hand"
    np.testing.assert_array_equal(part.gravity, model.gravity)
    assert "shoulder" not in str(part) and "base" not in part.frames
    assert subtree(model, "base") is model


def test_a_rotor_carried_by_a_link_that_is_left_out_is_put_on_the_base():
    model = arm(rotor=Rotor(1e-3, 20, link="base"))
    part = subtree(model, "upper")
    assert part.rotors[0].link == WORLD
    M = dynamics.mass_matrix(model, [0.2, 0.3])[1, 1]
    assert dynamics.mass_matrix(part, [0.3])[0, 0] == pytest.approx(M, rel=1e-14)


def test_a_tool_is_a_frame_with_a_body():
    rng = np.random.default_rng(2)
    model = random_model(2, 6)
    T, (m, com, I_com) = random_pose(rng), random_body(rng)
    found = Robot(model).with_tool("gripper", T, "link3", m=m, com=com, I_com=I_com).model
    x = random_state(model, 2)
    assert found.tool == "gripper" and found.n == model.n
    expected = dynamics.pose(model, x.q, "link3") @ T
    np.testing.assert_allclose(dynamics.pose(found, x.q), expected, atol=1e-14)
    loaded = Robot.with_payload(model.replace(frames=found.frames), m, com, I_com, "gripper")
    np.testing.assert_array_equal(found.com, loaded.com)
    assert dynamics.total_mass(found) == pytest.approx(dynamics.total_mass(model) + m)


@settings(max_examples=40)
@given(SEEDS)
def test_an_attached_robot_is_the_same_as_both_built_as_one(seed):
    """Attaching and then taking the subtree or locking the carrier gives back the parts."""
    rng = np.random.default_rng(seed)
    model = random_model(seed, 5, types=ALL_TYPES, mimic=True)
    other = random_model(seed + 1, 5, types=ALL_TYPES, mimic=True)
    frame = str(rng.choice(sorted(model.frames)))
    both = attach(model, other, frame, prefix="b/")
    a, b = random_state(model, seed), random_state(other, seed + 1)
    q = np.concatenate([a.q, b.q])
    assert both.n == model.n + other.n and both.tool == "b/tool"
    assert both.coordinate_names[model.nq :] == tuple(f"b/{x}" for x in other.coordinate_names)
    T = dynamics.pose(model, a.q, frame)
    for name in other.frames:
        expected = T @ dynamics.pose(other, b.q, name)
        assert relative(dynamics.pose(both, q, f"b/{name}"), expected) < ROUNDING
    # with the carrier at rest, the attached robot feels gravity in its own axes and nothing else
    still, n = np.zeros(model.n), model.n
    dq, ddq = np.concatenate([still, b.dq]), np.concatenate([still, b.ddq])
    tau = dynamics.inverse_dynamics(both, q, dq, ddq)
    alone = Robot.with_gravity(other, T[:3, :3].T @ model.gravity[3:])
    assert relative(tau[n:], dynamics.inverse_dynamics(alone, b.q, b.dq, b.ddq)) < ROUNDING
    # all bodies of the other robot, held, are a payload of the first
    held = {x: b.q[list(other.joint(x).coords)] for x in other.joint_names}
    held = {f"b/{k}": v if len(v) > 1 else v[0] for k, v in held.items()}
    carrying = lock(both, held)
    stone = lock(other, {k.removeprefix("b/"): v for k, v in held.items()})
    loaded = Robot.with_payload(model, *stone.base, frame=frame)
    assert relative(carrying.G, loaded.G) < ROUNDING
    x = random_state(model, seed)
    expected = dynamics.inverse_dynamics(loaded, *x.motion)
    assert relative(dynamics.inverse_dynamics(carrying, *x.motion), expected) < ROUNDING


def test_warnings_of_what_has_changed_go_and_others_stay():
    builder = Builder("chain").link("base", 1).link("a").link("b", 1, I_com=np.diag([-1, 1, 1]))
    builder.joint("one", "revolute", "base", "b", axis=(0, 0, 1))
    builder.joint("two", "revolute", "b", "a", axis=(0, 0, 1))
    model = builder.build_model(unphysical="allow")
    faults = {x.text.partition(" ")[2].partition(" ")[0] for x in model.warnings}
    assert faults == {"'b'", "'two'"}
    twice = lock(lock(model, {}), {})
    assert sorted(x.text for x in twice.warnings) == sorted(x.text for x in model.warnings)
    (left,) = lock(model, {"two": 0}).warnings
    assert "'b'" in left.text
    heavy = Builder("block").link("block", 1).build_model()
    assert all("'two'" not in x.text for x in attach(model, heavy, "a").warnings)


def test_changed_robots_keep_the_report_of_their_file():
    joint = "<joint name='j' type='continuous'><parent link='a'/><child link='b'/></joint>"
    robot = load_string(
        f"<robot name='r'><link name='a'/><link name='b'>{MASS}</link>{joint}</robot>"
    )
    for other in (robot.with_gravity((0, 0, 1)), robot.with_payload(1), robot.lock({"j": 0})):
        assert other.report.joints == 1 and other.report.model is other.model
