"""Model: frozen data with names, and the quantities that follow from them."""

import copy
import dataclasses
import pickle

import numpy as np
import pytest

from kinetree import dynamics
from kinetree.errors import NameLookupError
from kinetree.model import WORLD, Frame
from kinetree.spatial import spatial_inertia
from random_robots import ALL_TYPES, random_model

MODEL = random_model(7, 12, types=ALL_TYPES, mimic=True)


def test_a_model_never_changes():
    with pytest.raises(dataclasses.FrozenInstanceError):
        MODEL.tool = "other"
    with pytest.raises(TypeError, match="item assignment"):
        MODEL.frames["new"] = MODEL.frame()


def test_the_frames_stay_read_only_in_copies():
    model = random_model(7, 5, drives=False)  # a friction function has no pickle
    for copied in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), model.replace()):
        assert list(copied.frames) == list(model.frames) and copied.frames is not model.frames
        with pytest.raises(TypeError, match="item assignment"):
            copied.frames["new"] = model.frame()


def test_the_callers_own_arrays_stay_their_own():
    m, T = np.array(MODEL.m), np.eye(4)
    changed = MODEL.replace(m=m, frames={**MODEL.frames, "tip": Frame(0, T)})
    m[0], T[0, 3] = 7, 7
    assert np.array_equal(changed.m, MODEL.m)
    assert np.array_equal(changed.frames["tip"].T_if, np.eye(4))


def arrays(model):
    """Every array of a model, by name."""
    yield from ((key, getattr(model, key)) for key in ("M_pi", "m", "com", "I_com", "G"))
    yield from (("gravity", model.gravity), ("base com", model.base[1]), ("base", model.base[2]))
    yield from ((joint.name, joint.screw) for joint in model.joints if joint.screw is not None)
    yield from ((f"rotor of {rotor.joint}", rotor.s) for rotor in model.rotors)
    yield from ((name, frame.T_if) for name, frame in model.frames.items())


@pytest.mark.parametrize("name", [name for name, _ in arrays(MODEL)])
def test_nobody_writes_into_a_model(name):
    with pytest.raises(ValueError):
        dict(arrays(MODEL))[name][...] = 0


def test_writing_into_a_result_does_not_reach_the_model():
    T = dynamics.pose(MODEL, dynamics.neutral(MODEL), "base")
    T[0, 3] = 5
    assert dynamics.pose(MODEL, dynamics.neutral(MODEL), "base")[0, 3] == 0


def test_parents_come_before_children():
    assert all(WORLD <= MODEL.parent[i] < i for i in MODEL.links)
    for p, children in MODEL.children.items():
        assert all(MODEL.parent[c] == p for c in children)
    assert sum(len(c) for c in MODEL.children.values()) == len(MODEL.links)


def test_names_count_the_entries_of_q_and_dq():
    assert len(MODEL.coordinate_names) == MODEL.nq and len(MODEL.dof_names) == MODEL.n
    assert len(set(MODEL.coordinate_names)) == MODEL.nq
    followers = [joint.name for joint in MODEL.joints if joint.follows is not None]
    assert followers and not set(followers) & set(MODEL.joint_names)
    assert len(MODEL.joint_names) == len(MODEL.joint_types)


def test_every_entry_of_q_and_dq_belongs_to_one_joint_that_moves_by_itself():
    own = [joint for joint in MODEL.joints if joint.follows is None]
    assert sorted(k for joint in own for k in joint.coords) == list(range(MODEL.nq))
    assert sorted(k for joint in own for k in joint.dofs) == list(range(MODEL.n))


def test_home_poses_and_inertias_follow_from_the_data():
    for i in MODEL.links:
        body = MODEL.m[i], MODEL.com[i], MODEL.I_com[i]
        assert np.array_equal(MODEL.G[i], spatial_inertia(*body))


def test_an_unknown_frame_or_joint_is_refused_with_those_that_exist():
    with pytest.raises(NameLookupError, match="frame of 'random 7' is 'hand'"):
        MODEL.frame("hand")
    with pytest.raises(NameLookupError, match="joint of 'random 7' is 'knee'"):
        MODEL.joint("knee")
    assert MODEL.frame() is MODEL.frames["tool"] and MODEL.joint("joint3").name == "joint3"


def test_a_model_prints_on_one_line_with_its_joints():
    text = repr(random_model(1, 2))
    assert text.startswith("Model('random 1', 2 degrees of freedom: joint1 (") and "\n" not in text


def test_a_model_can_be_sent_to_another_process():
    model = random_model(2, 3, drives=False)
    copy = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copy.G, model.G) and copy.joint_names == model.joint_names
