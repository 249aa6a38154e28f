"""Random robots: the same for the same seed, physical, and with everything that was asked for."""

import numpy as np
import pytest

from kinetree.model import ALL_TYPES, WORLD, random_model
from kinetree.spatial import physical_faults, pseudo_inertia


def test_the_same_seed_gives_the_same_robot():
    a, b, c = random_model(4, 5), random_model(4, 5), random_model(5, 5)
    assert np.array_equal(a.M_pi, b.M_pi) and np.array_equal(a.G, b.G)
    assert not np.array_equal(a.M_pi, c.M_pi)


@pytest.mark.parametrize("seed", range(20))
def test_random_bodies_are_physical(seed):
    model = random_model(seed, 6)
    for m, com, I_com in zip(model.m, model.com, model.I_com, strict=True):
        assert physical_faults(m, I_com) == []
        assert np.linalg.eigvalsh(pseudo_inertia(m, com, I_com))[0] > 0


def test_a_chain_is_a_chain_and_a_tree_branches():
    assert random_model(1, 12, chain=True, fixed=False).parent == tuple(range(-1, 11))
    trees = [random_model(seed, 12) for seed in range(5)]
    assert all(any(len(c) > 1 for c in tree.children.values()) for tree in trees)


def test_every_option_shows():
    model = random_model(3, 30, types=ALL_TYPES, mimic=True)
    assert {joint.type for joint in model.joints} == set(ALL_TYPES)
    assert any(joint.follows for joint in model.joints)
    assert any(joint.friction.function for joint in model.joints)
    assert any(rotor.link not in (WORLD, model.parent[rotor.joint]) for rotor in model.rotors)
    assert any(name.endswith("_tip") for name in model.frames)
    plain = random_model(3, 30, drives=False, fixed=False)
    assert not plain.rotors and not any(joint.armature for joint in plain.joints)
    assert not any(name.endswith("_tip") for name in plain.frames)
