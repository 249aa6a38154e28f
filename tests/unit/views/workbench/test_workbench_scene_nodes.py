"""Round bodies as triangles are closed, face outward and have the right volume."""

import numpy as np
import pytest

from kinetree.views.shapes import Shape
from kinetree.views.workbench.scene_nodes import ROUND, lathe, profile


def volume(vertices, faces):
    """Volume of a closed body whose triangles are counter-clockwise from outside."""
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    return float(np.sum(a * np.cross(b, c)) / 6)


@pytest.mark.parametrize(
    ("kind", "exact"),
    [("cylinder", np.pi * 0.1**2 * 0.6), ("capsule", np.pi * 0.1**2 * (0.6 + 4 / 3 * 0.1))],
)
def test_a_round_body_has_its_volume(kind, exact):
    shape = Shape(kind, "body", 0, np.eye(4), (0.1, 0.6), (0, 0, 0), "")
    vertices, faces = lathe(profile(shape))
    # a polygon of that many sides fills sin(x)/x of its circle, x = 2 pi / sides
    filled = np.sin(2 * np.pi / ROUND) / (2 * np.pi / ROUND)
    assert volume(vertices, faces) == pytest.approx(exact * filled, rel=0.01)
    assert np.abs(vertices[:, 2]).max() == pytest.approx(0.3 + (0.1 if kind == "capsule" else 0))
