"""Parts and coarse meshes: scaled unit meshes have the volumes of their shapes."""

import re

import numpy as np
import pytest

import kinetree as kt
from kinetree.model import WORLD
from kinetree.views import Shape, TriangleMesh
from kinetree.views.camera import Camera, picture
from kinetree.views.parts import parts_of, plainer

GREY, RED = (128, 128, 128), (200, 0, 0)
EYE = Camera(np.zeros(3), np.array([1.0, 0, 0]), np.array([0.0, 0, 1]), 8.0, -1.0)


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


def crowd(count):
    """Spheres side by side behind a plate, and one beside it that shows; the eye is on +x."""
    spheres = [(0.0, 0.02 * k, 0.0) for k in range(-count // 2, count // 2)]
    shapes = [
        Shape("sphere", "body", WORLD, kt.spatial.pose(np.eye(3), np.array(p)), (0.1,), GREY, "x")
        for p in [*spheres, (0.0, 0.0, 2.0)]
    ]
    front = kt.spatial.pose(np.eye(3), np.array([1.0, 0, 0]))
    return parts_of((*shapes, Shape("box", "body", WORLD, front, (0.1, 3.0, 1.0), RED, "x")))


def polygons(count):
    svg = picture(crowd(count), {WORLD: np.eye(4)}, EYE, ("body",), "crowd")
    return svg.count("<polygon"), len(re.findall('fill="#..0000"', svg))


def test_a_picture_of_many_shapes_has_no_hidden_triangles():
    # of one sphere 190 triangles face the eye, and of the box two
    few, plate = polygons(20)
    assert few > 20 * 150 and plate == 2
    many, plate = polygons(120)
    assert 100 < many < 300 and plate == 2


def test_shapes_are_plain_where_there_are_very_many():
    found = crowd(100)
    assert plainer(found, 36_400 + 12) is found
    plain = plainer(found, 30_000)
    assert len(plain.meshes["sphere"].triangles) == 48 and plain.parts == found.parts
    assert 0.7 < volume(*solid(plain)) / volume(*solid(found)) < 1


def solid(parts):
    mesh = parts.meshes["sphere"]
    return mesh.vertices, mesh.triangles
