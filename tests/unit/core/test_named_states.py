"""Dicts of one state: numbers of every kind have the results of plain arrays, in any order."""

import gc
import sys
import tracemalloc

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import InputError, KinetreeError

robot = kt.robots.ur5e()
q = np.array([1.0, -2.0, 3.0, 0.0, -1.0, 2.0])
dq, ddq = 0.25 * q + 0.5, 1.0 - q

KINDS = {
    "float": float,
    "numpy": np.float64,
    "int": lambda x: int(np.floor(x)),
    "whole numbers of numpy": lambda x: np.int64(np.floor(x)),
    "arrays without axes": np.array,
    "float32": np.float32,
    "one of each": None,
}
MIXED = [float, np.float64, lambda x: int(np.floor(x)), np.float32, np.array, float]


def converted(x, kind):
    """The entries of a vector, each as a number of a kind."""
    makers = MIXED if kind == "one of each" else [KINDS[kind]] * len(x)
    return [make(value) for make, value in zip(makers, x, strict=True)]


def named(entries, seed=0):
    """A dict by joint, in a random order."""
    pairs = list(zip(robot.joint_names, entries, strict=True))
    return dict(np.random.default_rng(seed).permutation(np.array(pairs, object)).tolist())


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_of_every_kind_are_those_of_a_plain_array(kind):
    given = [converted(x, kind) for x in (q, dq, ddq)]
    plain = [np.array(x, np.float32 if kind == "float32" else float) for x in given]
    expected = robot.inverse_dynamics(*plain)
    for seed in range(3):
        found = robot.inverse_dynamics(*(named(x, seed) for x in given))
        assert list(found) == list(robot.joint_names)
        assert np.array(list(found.values())).tobytes() == expected.tobytes()
    M = robot.mass_matrix(named(given[0]))
    assert [list(M), *map(list, M.values())] == [list(robot.joint_names)] * 7
    rows = [list(row.values()) for row in M.values()]
    assert np.array(rows).tobytes() == robot.mass_matrix(plain[0]).tobytes()


def test_arrays_of_one_entry_are_many_states():
    found = robot.gravity_forces(named([np.array([x]) for x in q]))
    assert all(x.shape == (1,) for x in found.values())


def test_names_are_checked_at_every_call():
    state = named(q)
    expected = robot.gravity_forces(state)
    value = state.pop("elbow")
    with pytest.raises(InputError, match="missing 'elbow'"):
        robot.gravity_forces(state)
    state["Elbow"] = value
    with pytest.raises(InputError, match="Was 'elbow' meant by 'Elbow'"):
        robot.gravity_forces(state)
    del state["Elbow"]
    assert robot.gravity_forces({**state, "elbow": value}) == expected


def test_wrenches_and_none_beside_dicts():
    F = np.zeros((len(robot.model.links), 6))
    F[-1] = 1, 2, 3, 4, 5, 6
    expected = robot.inverse_dynamics(q, dq, ddq, F).tolist()
    state = named(q), named(dq), named(ddq)
    for _ in range(2):
        assert list(robot.inverse_dynamics(*state, F).values()) == expected
        assert list(robot.inverse_dynamics(*state, F_ext=F).values()) == expected
        assert robot.inverse_dynamics(*state, None) == robot.inverse_dynamics(*state)


@pytest.mark.parametrize("last", [2.0, 2, np.float64(2), 2**60, np.float32(2), True, None, "2"])
def test_no_reference_is_lost_or_kept(last):
    """Also where the last value of the last dict is one that machine code does not read."""
    state = [named(x) for x in (q, dq, ddq)]
    state[2][list(state[2])[-1]] = last
    watched = [*state, *robot.joint_names, *(x for d in state for x in d.values())]

    def call():
        try:
            return robot.inverse_dynamics(*state)
        except KinetreeError:
            return None

    call()
    before = [sys.getrefcount(x) for x in watched]
    tracemalloc.start()
    size = tracemalloc.get_traced_memory()[0]
    for _ in range(400):
        call()
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - size
    tracemalloc.stop()
    assert grown < 40_000  # one array of every call would be 60 kB
    now = [sys.getrefcount(x) for x in watched]
    assert max(abs(a - b) for a, b in zip(now, before, strict=True)) < 100  # others count None, too
    result = call()
    assert result is None or sys.getrefcount(result) == 2
