"""Pinocchio differentiates the same: real robots and random trees, to 1e-10.

Errors are relative to the norm of the matrix; for accelerations 1e-14 times the condition of M is
granted where that is larger, as for the accelerations themselves.
"""

import warnings

import numpy as np
import pytest
from shared_models import ROOT, Entry, entries

import kinetree as kt
from kinetree import algorithms
from kinetree.model import ALL_TYPES, random_model
from kinetree.model.constrain import tree_of
from robot_states import random_state, size

pin = pytest.importorskip("pinocchio", reason="pinocchio (package pin) is not installed")
from pinocchio_model import twin, without_what_it_leaves_out  # noqa: E402  (needs pinocchio)

AGREEMENT = 1e-10
CASES = [
    (entry, mode)
    for entry in entries()
    if entry.expected in ("load", "load_warn")
    for mode in entry.modes
    if mode != "fixed_mimic"  # Pinocchio's derivatives know no mimic joints
]
IDS = [f"{entry.name}-{mode}" for entry, mode in CASES]


def load(entry: Entry, mode: str):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kt.KinetreeWarning)
        return without_what_it_leaves_out(
            kt.load(entry.path, floating=mode == "floating", mimic=False).model
        )


def offsets(model):
    """Where joints stand at q = 0: theirs stand at zero."""
    q = np.zeros(model.nq)
    for joint in model.joints:
        if joint.type not in ("free", "spherical", "planar"):
            q[joint.coords[0]] = joint.offset
    return q


def compare(model, seed):
    """Both derivatives at one state with wrenches on all links."""
    pair, x = twin(model), random_state(model, seed)
    data, loads, order = pair.theirs.createData(), pair.wrenches(x.F_ext), pair.order
    q, dq, last = pair.q(x.q + offsets(model)), x.dq[order], x.ddq[order]
    theirs, M = np.ix_(order, order), algorithms.mass_matrix(model, x.q)
    terms = size(M) * (size(dq) + size(last)) + size(x.F_ext)  # what may cancel
    pin.computeRNEADerivatives(pair.theirs, data, q, dq, last, loads)
    found = algorithms.inverse_dynamics_derivatives(model, *x.motion, x.F_ext)
    for ours, expected in zip(found, (data.dtau_dq, data.dtau_dv), strict=True):
        assert size(ours[theirs] - expected) <= AGREEMENT * max(size(expected), terms)
    condition = np.linalg.cond(M)
    if condition > 1e12:
        return  # no acceleration has digits left
    slack = max(AGREEMENT, 1e-14 * condition)
    pin.computeABADerivatives(pair.theirs, data, q, dq, last, loads)
    found = algorithms.forward_dynamics_derivatives(model, *x.motion, x.F_ext)
    upper = np.triu(data.Minv)
    inverse = upper + np.triu(upper, 1).T
    assert size(found[2][theirs] - inverse) <= slack * size(inverse)
    for ours, expected in zip(found, (data.ddq_dq, data.ddq_dv), strict=False):
        scale = max(size(expected), size(inverse) * terms)
        assert size(ours[theirs] - expected) <= slack * scale


@pytest.mark.skipif(not CASES, reason=f"no reference models at {ROOT}")
@pytest.mark.parametrize(("entry", "mode"), CASES, ids=IDS)
def test_derivatives_of_real_robots_agree(entry, mode):
    model = tree_of(load(entry, mode))  # Pinocchio's derivatives are those of the tree
    if model.n == 0:
        pytest.skip("nothing moves")
    compare(model, 1)


@pytest.mark.parametrize("seed", range(40))
def test_derivatives_of_random_trees_agree(seed):
    compare(
        without_what_it_leaves_out(
            random_model(seed, 1 + seed % 12, types=ALL_TYPES, chain=seed % 2 == 0)
        ),
        seed,
    )
