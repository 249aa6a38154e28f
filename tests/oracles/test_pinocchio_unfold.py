"""Pinocchio with the body of one link alone gives the share of that link in every joint force."""

import math
from dataclasses import replace

import numpy as np
import pytest

from kinetree.explain.unfold import unfolding
from kinetree.model import ALL_TYPES, random_model
from robot_states import random_state

pin = pytest.importorskip("pinocchio", reason="pinocchio (package pin) is not installed")
from pinocchio_model import twin, without_what_it_leaves_out  # noqa: E402  (needs pinocchio)

AGREEMENT = 1e-12  # of the sum of the sizes of all shares


@pytest.mark.parametrize("seed", range(8))
def test_the_share_of_every_link_is_the_torque_of_its_body_alone(seed):
    model = random_model(seed, 1 + seed % 5, types=ALL_TYPES, chain=seed % 2 == 0)
    model = without_what_it_leaves_out(model)
    joints = tuple(_without_armature(joint) for joint in model.joints)
    model, state = model.replace(joints=joints), random_state(model, seed)
    pair = twin(model)
    theirs = pair.theirs
    bodies = [pin.Inertia(body) for body in theirs.inertias]
    found = unfolding(model, *state.motion)
    trees = [found.torque(dof) for dof in range(model.n)]
    shares = [_by_link(tree) for tree in trees]
    q, dq, ddq = pair.q(state.q), state.dq[pair.order], state.ddq[pair.order]
    for number, i in enumerate(pair.links, 1):
        for k, body in enumerate(bodies):
            theirs.inertias[k] = body if k == number else pin.Inertia.Zero()
        tau = pin.rnea(theirs, theirs.createData(), q, dq, ddq)
        for place, dof in enumerate(pair.order):
            scale = math.fsum(abs(x) for own in shares[dof].values() for x in own)
            share = math.fsum(shares[dof].get(model.link_names[i], []))
            assert abs(share - tau[place]) <= AGREEMENT * max(scale, 1e-300)


def _without_armature(joint):
    return replace(joint, armature=0)


def _by_link(tree):
    """Shares of a joint force by link."""
    found: dict[str, list[float]] = {}
    for term in tree.children:
        rows = [term] if term.name == "gravity" else term.children
        for row in rows:
            for link in row.children:
                found.setdefault(link.name, []).append(link.value)
    assert np.isclose(math.fsum(x for own in found.values() for x in own), tree.value, atol=1e-9)
    return found
