"""From a description to a model: order, merging of fixed joints, frames, and renumbering.

Robots that differ by merging or order differ by the rounding of sums and products of poses: the
issue's 1e-12 of agreement.
"""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import chain_data
from kinetree import Builder, algorithms
from kinetree.files.description import Friction, Rotor
from kinetree.model import WORLD, random_body, random_pose
from kinetree.spatial import compose, move_body, pose, rotation, translation

SAME = 1e-12
seeds = st.integers(0, 10**6)


def arm_with_flange(rng, *, welded):
    """Two moving links and a flange with a camera, welded on or composed by hand."""
    arm, flange, camera = (random_body(rng) for _ in range(3))
    T_af, T_fc = random_pose(rng), random_pose(rng)
    builder = Builder().link("base").joint("j1", "revolute", "base", "upper", at=(0, 0, 1))
    builder.link("upper", *random_body(rng)).joint("j2", "helical", "upper", "arm", pitch=0.3)
    if welded:
        builder.link("arm", *arm).link("flange", *flange).link("camera", *camera)
        builder.joint("weld", "fixed", "arm", "flange", at=T_af)
        builder.joint("screw", "fixed", "flange", "camera", at=T_fc)
        return builder.build_model()
    parts = arm, move_body(*flange, T_af), move_body(*camera, T_af @ T_fc)
    builder.link("arm", *compose(*parts))
    builder.frame("flange", "arm", T_af).frame("camera", "arm", T_af @ T_fc, tool=True)
    return builder.build_model()


@settings(max_examples=25)
@given(seeds)
def test_fixed_joints_are_merged_and_their_frames_kept(seed):
    welded, composed = (
        arm_with_flange(np.random.default_rng(seed), welded=welded) for welded in (True, False)
    )
    assert welded.joint_names == ("j1", "j2") and welded.link_names == ("upper", "arm")
    assert welded.tool == "camera"  # the last link that moves with the last moving link
    assert chain_data.difference(composed, welded, seed) < SAME
    q = np.random.default_rng(seed).normal(size=2)
    for frame in ("flange", "camera"):
        a, b = (algorithms.pose(model, q, frame) for model in (welded, composed))
        assert np.allclose(a, b, rtol=0, atol=SAME)
    assert {note.text for note in welded.notes} >= {
        "fixed joint 'weld': link 'flange' merged into 'arm'",
        "fixed joint 'screw': link 'camera' merged into 'flange'",
    }


def test_drives_of_fixed_joints_are_noted():
    builder = Builder().link("base").link("a", 1.0).link("b", 1.0)
    builder.joint("j", "revolute", "base", "a", friction=Friction(0.1), armature=0.2)
    builder.joint("w", "fixed", "a", "b", friction=Friction(0.1), armature=0.2, rotor=Rotor(1e-4))
    idle = [note.text for note in builder.build_model().notes if "no effect" in note.text]
    assert idle == ["joint 'w' is fixed, so these have no effect: friction, armature, rotor"]


@given(seeds)
def test_what_is_welded_to_the_base_belongs_to_the_world(seed):
    rng = np.random.default_rng(seed)
    T = random_pose(rng)
    builder = Builder().link("floor", 2.0, (1, 0, 0)).link("table", 3.0, (0, 0, 1))
    builder.joint("bolt", "fixed", "floor", "table", at=T)
    builder.link("arm", 1.0).joint("j", "revolute", "table", "arm", at=(0, 0, 1))
    model = builder.build_model()
    assert model.parent == (WORLD,) and model.frames["table"].link == WORLD
    assert np.allclose(model.M_pi[0], T @ translation((0, 0, 1)), rtol=0, atol=1e-15)
    assert model.base[0] == 5
    centre = (2 * np.array([1, 0, 0]) + 3 * (T[:3, :3] @ [0, 0, 1] + T[:3, 3])) / 5
    assert np.allclose(model.base[1], centre, rtol=0, atol=1e-15)


@settings(max_examples=25)
@given(seeds, st.integers(2, 8))
def test_links_and_joints_may_come_in_any_order(seed, n):
    """Parents are moved before their children; each joint keeps its name, forces and rates."""
    data = chain_data.random_chain(seed, n, tree=True)
    rng = np.random.default_rng(seed)
    given_order = chain_data.by_builder(data)
    shuffled = chain_data.by_builder(data, order=[int(i) for i in rng.permutation(n)])
    assert all(p < i for i, p in enumerate(shuffled.parent))
    where = [shuffled.joint_names.index(name) for name in given_order.joint_names]
    q, dq, ddq = rng.normal(size=(3, n))
    back = np.argsort(where)  # the entry of the shuffled robot that each joint of the given one is
    tau = algorithms.inverse_dynamics(given_order, q, dq, ddq)
    found = algorithms.inverse_dynamics(shuffled, q[back], dq[back], ddq[back])[where]
    assert np.linalg.norm(found - tau) <= SAME * np.linalg.norm(tau)
    M = algorithms.mass_matrix(given_order, q)
    other = algorithms.mass_matrix(shuffled, q[back])[np.ix_(where, where)]
    assert np.linalg.norm(other - M) <= SAME * np.linalg.norm(M)


def test_joints_keep_the_order_of_the_source_where_parents_allow_it():
    builder = Builder()
    for name in ("finger", "arm", "base", "thumb", "nail"):
        builder.link(name, 1.0)
    builder.joint("f", "revolute", "arm", "finger").joint("t", "revolute", "base", "thumb")
    builder.joint("n", "revolute", "arm", "nail").joint("a", "revolute", "base", "arm")
    model = builder.build_model()
    assert model.joint_names == ("t", "a", "f", "n")  # f and n wait for their parent, t does not
    assert model.link_names == ("thumb", "arm", "finger", "nail") and model.base_name == "base"


def test_right_angles_are_cleared_of_dust_and_the_note_says_so():
    c, s = np.cos(np.pi / 2), np.sin(np.pi / 2)
    T = np.array([[c, -s, 0, 1e-17], [s, c, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
    model = (
        Builder()
        .link("base")
        .link("a", 1.0)
        .joint("j", "revolute", "base", "a", at=T)
        .build_model()
    )
    assert model.M_pi[0, :3, :3].tolist() == [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    assert model.M_pi[0, 0, 3] == 1e-17  # positions are not rotations: they stay
    assert [note.text for note in model.notes] == [
        "rotation of joint 'j': 2 entries snapped to 0 or 1"
    ]


def test_a_rotor_spins_about_the_axis_of_its_joint_as_its_carrier_sees_it():
    """Without an axis of its own: that of the joint at q = 0, here turned from x of the child."""
    T = pose(rotation(np.array([0, 0, 1.0]), 0.4), np.array([1.0, 2.0, 3.0]))
    builder = Builder().link("base").link("a", 1.0).link("b", 1.0).link("motor", 1.0)
    builder.joint("j1", "revolute", "base", "a", at=T).joint("w", "fixed", "a", "motor", at=T)
    builder.joint("j2", "prismatic", "a", "b", at=T, axis=(1, 0, 0), rotor=Rotor(0.1, 5))
    on_parent = builder.build_model().rotors[0]
    assert on_parent.link == 0 and np.allclose(on_parent.s, T[:3, 0], rtol=0, atol=1e-15)
    builder.link("c", 1.0).joint("j3", "revolute", "b", "c", rotor=Rotor(0.1, 5, None, "base"))
    builder.link("d", 1.0).joint("j4", "revolute", "c", "d", rotor=Rotor(1, 1, (1, 0, 0), "motor"))
    _, on_base, on_motor = builder.build_model().rotors
    assert on_base.link == WORLD and np.allclose(on_base.s, [0, 0, 1], rtol=0, atol=1e-15)
    # an axis is given in the frame of its link: the motor is merged into "a", turned by T
    assert on_motor.link == 0 and np.allclose(on_motor.s, T[:3, 0], rtol=0, atol=1e-15)
