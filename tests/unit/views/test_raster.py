"""The rasteriser: shapes with known outlines, depths and shading; laws on random triangles."""

import numpy as np
import pytest

from kinetree.views.parts import unit_box, unit_cylinder, unit_sphere
from kinetree.views.raster import (
    AMBIENT,
    DARKEST,
    GLOSS,
    LIT,
    Layer,
    View,
    clipped,
    corner_normals,
    paint,
    ribbons,
    visible,
)
from kinetree.views.shapes import TriangleMesh

CLEAR = (0.0, 0.0, 0.0, 0.0)


def view(width=60, height=40, scale=50.0):
    return View(width, height, scale, width / 2, height / 2, 0.01)


def random_triangles(rng, count):
    """Triangles before the eye, larger and smaller than the picture, some partly outside."""
    middle = np.column_stack([rng.uniform(-1, 1, (count, 2)), rng.uniform(1.5, 3, count)])
    return middle[:, None] + rng.normal(size=(count, 3, 3)) * rng.uniform(0.02, 0.4, (count, 1, 1))


def rays(v):
    """Directions (x, y, 1) through the centres of all pixels, in the order of the picture."""
    y, x = np.mgrid[: v.height, : v.width] + 0.5
    return np.stack([(x - v.cx) / v.scale, (v.cy - y) / v.scale, np.ones_like(x)], -1).reshape(
        -1, 3
    )


def nearest_by_rays(corners, v):
    """Nearest triangle and depth of every pixel: an oracle that intersects every ray."""
    best, depth = np.full(v.width * v.height, -1), np.full(v.width * v.height, np.inf)
    for k, (a, b, c) in enumerate(corners):
        M = np.stack([*np.broadcast_arrays(a - b, a - c, rays(v))], -1)
        good = np.abs(np.linalg.det(M)) > 1e-12
        found = np.zeros((len(M), 3))
        found[good] = np.linalg.solve(M[good], np.broadcast_to(a, (good.sum(), 3))[..., None])[
            ..., 0
        ]
        beta, gamma, t = found.T
        hit = good & (beta >= 0) & (gamma >= 0) & (beta + gamma <= 1) & (t > 0) & (t < depth)
        best[hit], depth[hit] = k, t[hit]
    return best, depth


@pytest.mark.parametrize("seed", range(5))
def test_the_nearest_triangle_is_that_of_rays_through_the_pixels(seed):
    v, corners = view(), random_triangles(np.random.default_rng(seed), 40)
    pixels, triangles, inverse = visible(corners, v)
    best, depth = nearest_by_rays(corners, v)
    ours = np.full(len(best), -1)
    ours[pixels] = triangles
    # float32 depths of intersecting triangles and centres on an edge may decide otherwise
    assert (ours != best).mean() < 1e-3
    same = (ours == best) & (best >= 0)
    assert same.sum() > 500
    seen = np.zeros(len(best))
    seen[pixels] = inverse
    np.testing.assert_allclose(1 / seen[same], depth[same], rtol=3e-7)


def test_the_order_of_triangles_does_not_matter():
    rng = np.random.default_rng(3)
    corners, colours = random_triangles(rng, 60), rng.uniform(size=(60, 3))
    normals = rng.normal(size=(60, 3, 3))
    order = rng.permutation(60)
    one = paint([Layer(corners, colours, normals)], view(), CLEAR)
    other = paint([Layer(corners[order], colours[order], normals[order])], view(), CLEAR)
    turned = paint([Layer(corners[:, [1, 2, 0]], colours, normals[:, [1, 2, 0]])], view(), CLEAR)
    assert np.array_equal(one, other)
    assert np.abs(one.astype(int) - turned).max() <= 1


def test_triangles_that_share_an_edge_leave_no_hole_between_them():
    rng = np.random.default_rng(1)
    n, v = 12, view(101, 83)
    x, y = np.meshgrid(np.linspace(-3, 3, n), np.linspace(-3, 3, n))
    inner = np.zeros((n, n, 1))
    inner[1:-1, 1:-1] = 1
    depth = rng.uniform(2, 2.5, (n, n))
    points = np.dstack([np.dstack([x, y]) + 0.1 * inner * rng.normal(size=(n, n, 2)), depth])
    a, b, c, d = points[:-1, :-1], points[:-1, 1:], points[1:, :-1], points[1:, 1:]
    corners = np.concatenate([np.stack([a, b, d], 2).reshape(-1, 3, 3),
                              np.stack([a, d, c], 2).reshape(-1, 3, 3)])  # fmt: skip
    assert len(visible(corners, v)[0]) == v.width * v.height


def sphere(rings=160):
    """A sphere of radius 1 about (0, 0, 4) with many triangles, and its true normals."""
    theta, phi = np.linspace(0, np.pi, rings + 1), np.linspace(0, 2 * np.pi, 2 * rings + 1)
    t, p = np.meshgrid(theta, phi, indexing="ij")
    unit = np.stack([np.sin(t) * np.cos(p), np.sin(t) * np.sin(p), np.cos(t)], -1)
    a, b, c, d = unit[:-1, :-1], unit[1:, :-1], unit[:-1, 1:], unit[1:, 1:]
    normals = np.concatenate([np.stack([a, b, d], 2).reshape(-1, 3, 3),
                              np.stack([a, d, c], 2).reshape(-1, 3, 3)])  # fmt: skip
    return normals + np.array([0, 0, 4]), normals


def test_a_sphere_has_the_known_outline_depth_and_shading():
    v = view(90, 80, 120.0)
    corners, normals = sphere()
    pixels, _, inverse = visible(corners, v)
    ray = rays(v)
    # |t ray - centre| = 1 for the ray's parameter t, which is the depth
    b, a, c = 4 * ray[:, 2], (ray**2).sum(axis=1), 15.0
    inside = b**2 - a * c
    assert abs(len(pixels) - (inside > 0).sum()) < 0.01 * len(pixels)
    clear = inside[pixels] > 0.3
    t = (b - np.sqrt(np.maximum(inside, 0))) / a
    np.testing.assert_allclose(1 / inverse[clear], t[pixels][clear], rtol=1e-4)
    cosine = np.abs(t[:, None] * ray - [0, 0, 4])[:, 2]
    light = AMBIENT + LIT * cosine[pixels][clear]
    for colour, least in ((0.0, DARKEST), (0.5, 0.5), (1.0, 1.0)):
        colours = np.full((len(corners), 3), colour)
        found = paint([Layer(corners, colours, normals)], v, CLEAR, 1).reshape(-1, 4)[pixels][clear]
        wanted = 255 * np.minimum(least * light + GLOSS * light**9, 1)
        assert np.abs(found[:, :3] - wanted[:, None]).max() < 1.5 and (found[:, 3] == 255).all()


def test_a_picture_in_bands_is_the_whole_picture():
    rng = np.random.default_rng(7)
    layer = Layer(random_triangles(rng, 50), rng.uniform(size=(50, 3)), rng.normal(size=(50, 3, 3)))
    whole = paint([layer], view(), CLEAR)
    v = view()
    bands = [View(v.width, 10, v.scale, v.cx, v.cy - top, v.near) for top in range(0, 40, 10)]
    assert np.array_equal(whole, np.concatenate([paint([layer], x, CLEAR) for x in bands]))


def test_half_a_pixel_gives_half_the_colour_and_the_background_its_share():
    square = np.array([[[-1, 1, 1], [0.005, 1, 1], [0.005, -1, 1]],
                       [[-1, 1, 1], [0.005, -1, 1], [-1, -1, 1]]])  # fmt: skip
    v = View(10, 4, 100.0, 5.0, 2.0, 0.01)  # the right edge is in the middle of column 5
    layer = Layer(square, np.tile([1.0, 0.0, 0.0], (2, 1)))
    clear = paint([layer], v, CLEAR)
    assert (clear[:, :5] == [255, 0, 0, 255]).all() and (clear[:, 6:] == 0).all()
    assert (clear[:, 5] == [255, 0, 0, 128]).all()
    white = paint([layer], v, (1, 1, 1, 1))
    assert (white[:, 5] == [255, 128, 128, 255]).all()


def test_a_layer_of_glass_lets_the_solid_layer_shine_through_and_is_hidden_by_it():
    def plate(depth, colour, alpha=None):
        corners = np.array([[[-9, -9, depth], [9, -9, depth], [0, 9, depth]]], float)
        return Layer(corners, np.array([colour], float), None, alpha)

    quarter = np.array([0.25])
    solid = plate(2, (1, 0, 0))
    before = paint([solid, plate(1, (0, 0, 1), quarter)], view(), CLEAR)
    behind = paint([solid, plate(3, (0, 0, 1), quarter)], view(), CLEAR)
    assert (before[20, 30] == [191, 0, 64, 255]).all() and (
        behind[20, 30] == [255, 0, 0, 255]
    ).all()


def test_what_is_behind_the_eye_is_cut_off():
    v, layer = view(), Layer(np.array([[[-1, 0, 2], [1, 0, 2], [0, 0.5, -2.0]]]), np.ones((1, 3)))
    cut = clipped(layer, v.near)
    assert (cut.corners[..., 2] > 0.999 * v.near).all() and len(cut.corners) == 2
    best, _ = nearest_by_rays(layer.corners, v)
    pixels, _, _ = visible(cut.corners, v)
    covered = np.full(len(best), -1)
    covered[pixels] = 0
    assert (covered != best).mean() < 2e-3 and (best == 0).sum() > 300
    line = np.array([[[0, -0.2, -1.0], [0.1, -0.2, 3.0]], [[0, 0, -1], [1, 0, -2]]])
    strips = ribbons(line, v, 2.0)
    assert np.isfinite(strips).all() and (strips[..., 2] > v.near).all()
    assert len(visible(strips, v)[0]) > 10


def test_a_line_is_as_wide_as_it_should_be_at_any_depth():
    v = view(80, 61, 30.0)
    lines = np.array([[[-1, 0, 1], [5, 0, 5.0]]])  # level on the screen, away from the eye
    rows, counts = np.unique(visible(ribbons(lines, v, 3.0), v)[0] // v.width, return_counts=True)
    assert rows.tolist() == [29, 30, 31]
    assert counts.tolist() == [60, 60, 60]  # pixels from -1/1 to 5/5 times the scale


def smooth_normals_by_hand(mesh):
    """The rule of viewer.js, corner by corner."""
    faces = []
    for a, b, c in mesh.vertices[mesh.triangles]:
        n = np.cross(b - a, c - a)
        size = np.linalg.norm(n)
        faces.append(n / size if size > 0 else np.array([0.0, 0.0, 1.0]))
    found = np.zeros((len(faces), 3, 3))
    for t, triangle in enumerate(mesh.triangles):
        for k, vertex in enumerate(triangle):
            for other in np.flatnonzero((mesh.triangles == vertex).any(axis=1)):
                if faces[other] @ faces[t] > 0.7:
                    found[t, k] += faces[other]
    return found


@pytest.mark.parametrize("make", [unit_box, unit_cylinder, unit_sphere])
def test_normals_are_shared_across_edges_that_are_not_sharp(make):
    mesh = make()
    np.testing.assert_allclose(corner_normals(mesh), smooth_normals_by_hand(mesh), atol=1e-14)


def test_normals_of_a_random_surface_with_a_flat_triangle():
    rng = np.random.default_rng(5)
    triangles = rng.integers(0, 12, (30, 3))
    triangles = triangles[(np.diff(np.sort(triangles, axis=1), axis=1) > 0).all(axis=1)]
    vertices = rng.normal(size=(12, 3))
    vertices[triangles[0, 1]] = vertices[triangles[0, 0]]
    mesh = TriangleMesh(vertices, triangles)
    np.testing.assert_allclose(corner_normals(mesh), smooth_normals_by_hand(mesh), atol=1e-13)
