"""The rasteriser: shapes with known outlines, depths and shading; laws on random triangles."""

import numpy as np
import pytest

from kinetree.views.raster import (
    Layer,
    View,
    paint,
    visible,
)

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
