"""Chains from points: what is left out has the value that the documentation names."""

import numpy as np
from scipy.linalg import expm

from kinetree import algorithms
from kinetree.files.description import describe_points
from kinetree.model import build_model

P, C = [[0.1, 0.2, 0.3], [0.5, 0.2, 0.7], [0.9, 0.1, 0.2]], [[0.3, 0.2, 0.4], [0.6, 0.3, 0.5]]
K = [[0, 0, 1], [0.6, 0.8, 0]]
BODY = {"m": [1, 2], "I_com": [np.eye(3), 2 * np.eye(3)]}


def tip(q, **options):
    model = build_model(describe_points(P, C, K, **BODY, **options))
    return algorithms.pose(model, np.array(q, float))


def product(q, pitch=(0.0, 0.0)):
    """Product of exponentials of the screws, in the absolute frame."""
    T = np.eye(4)
    for p, k, h, angle in zip(P, K, pitch, q, strict=False):
        k, p = np.array(k), np.array(p)
        X = np.zeros((4, 4))
        X[:3, :3] = [[0, -k[2], k[1]], [k[2], 0, -k[0]], [-k[1], k[0], 0]]
        X[:3, 3] = np.cross(p, k) + h * k
        T = T @ expm(X * angle)
    home = np.eye(4)
    home[:3, 3] = P[2]
    return T @ home


def test_the_tip_moves_as_the_product_of_exponentials():
    for q in ([0, 0], [0.3, -0.7], [2.0, 1.0]):
        assert np.allclose(tip(q), product(q), 0, 1e-14)
        moved = tip(q, types="helical", pitch=[0.2, -0.1])
        assert np.allclose(moved, product(q, (0.2, -0.1)), 0, 1e-14)


def test_a_screw_without_a_pitch_is_a_hinge():
    for q in ([0.3, -0.7], [2.0, 1.0]):
        assert np.allclose(tip(q, types="helical"), product(q), 0, 1e-14)
        assert np.allclose(
            tip(q, types="helical", pitch=[0.2, None]), product(q, (0.2, 0)), 0, 1e-14
        )
