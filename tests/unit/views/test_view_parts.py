"""Parts and coarse meshes: scaled unit meshes have the volumes of their shapes."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.model import WORLD
from kinetree.views import Shape, TriangleMesh
from kinetree.views.parts import parts_of

GREY = (128, 128, 128)


def volume(vertices, triangles):
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum()) / 6


def drawn(kind, size):
    """Sum of the volumes of the parts of a shape in a rotated frame."""
    T = kt.spatial.pose(kt.spatial.rpy(0.3, 0.2, 1.0), np.array([1.0, 2, 3]))
    found = parts_of((Shape(kind, "body", WORLD, T, size, GREY, "x"),))
    total = 0.0
    for part in found.parts:
        mesh = found.meshes[part.mesh]
        total += volume(mesh.vertices @ part.A[:3, :3].T, mesh.triangles)
    return total


@pytest.mark.parametrize(
    ("kind", "size", "expected"),
    [
        ("box", (1.0, 2.0, 3.0), 6.0),
        ("sphere", (0.5,), 4 / 3 * np.pi / 8),
        ("ellipsoid", (1.0, 2.0, 0.5), 4 / 3 * np.pi),
        ("cylinder", (0.5, 3.0), 0.75 * np.pi),
        ("capsule", (0.5, 3.0), 0.75 * np.pi + 2 * 4 / 3 * np.pi / 8),  # two whole balls overlap
    ],
)
def test_parts_have_the_volume_of_their_shape(kind, size, expected):
    # a circle of 20 corners has 1.6 % less area than the round one, a sphere 4.1 % less volume
    assert 0.955 * expected < drawn(kind, size) <= expected * (1 + 1e-12)


def test_a_frame_has_its_axes_in_red_green_and_blue():
    found = parts_of((Shape("frame", "frame", WORLD, np.eye(4), (2.0,), GREY, "x"),))
    for k, part in enumerate(found.parts):
        tip = part.A @ (0, 0, 0.5, 1)
        np.testing.assert_allclose(tip[:3], 2 * np.eye(3)[k], atol=1e-12)
        assert np.argmax(part.colour) == k


def ball(count):
    """A sphere of count * count * 2 triangles, without shared corners at its poles."""
    theta, phi = np.meshgrid(np.linspace(0, np.pi, count + 1), np.linspace(0, 2 * np.pi, count + 1))
    points = np.stack([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)], -1)
    k = np.arange((count + 1) ** 2).reshape(count + 1, count + 1)
    a, b, c, d = k[:-1, :-1], k[:-1, 1:], k[1:, :-1], k[1:, 1:]
    faces = np.concatenate([np.stack([a, b, d], -1), np.stack([a, d, c], -1)]).reshape(-1, 3)
    return TriangleMesh(points.reshape(-1, 3), faces)


def test_meshes_share_the_triangles_of_a_page():
    mesh, other = ball(60), ball(40)
    shapes = [
        Shape("mesh", "visual", WORLD, np.eye(4), (), GREY, "x", m) for m in (mesh, other, mesh)
    ]
    found = parts_of(tuple(shapes), triangles=2000)
    assert len(found.meshes) == 2 and len(found.parts) == 3
    assert sum(len(m.triangles) for m in found.meshes.values()) <= 2000
