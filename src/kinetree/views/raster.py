"""A small rasteriser in NumPy: triangles in, pixels out, without a window, a driver or a thread.

The picture is drawn `samples` times finer in both directions and then averaged, which smooths the
edges. Visibility and shading are separate steps. The first finds, for every fine pixel, the nearest
triangle whose inside contains the pixel's centre: each triangle is cut into rows, each row into
pixels, and a pixel keeps the largest key, which is the inverse depth (perspective keeps it linear
on the screen) followed by the number of the triangle. The second interpolates the normal of that
triangle and lights it from the eye, as the WebGL view of the pages does.

All work is done by array operations in a fixed order, so equal input gives equal pixels.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kinetree.core.arrays import Array
from kinetree.views.shapes import TriangleMesh

CREASE = 0.7  # cosine of the angle from which an edge is sharp, as in viewer.js
AMBIENT, LIT = 0.38, 0.62  # light of a surface: AMBIENT + LIT * |cosine of normal and eye|
DARKEST, GLOSS = 0.11, 0.06  # least colour, and white added where the light is full (viewer.js)
MAX_FRAGMENTS = 2_000_000  # pixels of triangles that are held in memory at a time
EDGES = ((0, 1), (1, 2), (2, 0))


@dataclass(frozen=True)
class View:
    """Perspective projection onto a picture of `width` by `height` pixels.

    A point (x, y, depth) before the eye, with x to the right and y upward, in m, is seen at pixel
    (cx + scale x / depth, cy - scale y / depth), counted from the upper left corner.

    Args:
        width, height: size of the picture, pixels.
        scale: pixels per unit of x / depth.
        cx, cy: pixel that the camera looks at.
        near: depth before which nothing is drawn, m.
    """

    width: int
    height: int
    scale: float
    cx: float
    cy: float
    near: float

    def finer(self, samples: int) -> "View":
        """The same view with `samples` times as many pixels in both directions."""
        k = samples
        return View(
            k * self.width, k * self.height, k * self.scale, k * self.cx, k * self.cy, self.near
        )

    def project(self, points: Array) -> Array:
        """Pixels (..., 2) of points (..., 3)."""
        x, y, depth = np.moveaxis(points, -1, 0)
        return np.stack([self.cx + self.scale * x / depth, self.cy - self.scale * y / depth], -1)

    def unproject(self, pixels: Array, depth: Array) -> Array:
        """Points (..., 3) at a depth that are seen at pixels (..., 2)."""
        x = (pixels[..., 0] - self.cx) * depth / self.scale
        y = (self.cy - pixels[..., 1]) * depth / self.scale
        return np.stack([x, y, depth], -1)


@dataclass(frozen=True, eq=False)
class Layer:
    """Triangles that are drawn together: the nearest of them is blended over earlier layers.

    Args:
        corners: points before the eye (x, y, depth), shape (m, 3, 3), m.
        colours: red, green and blue of each triangle, 0 to 1, shape (m, 3).
        normals: at the corners, of any length, shape (m, 3, 3); None: not lit, as lines are.
        alpha: opacity of each triangle, shape (m,), of a layer that does not hide what is behind;
            None: it hides it.
    """

    corners: Array
    colours: Array
    normals: Array | None = None
    alpha: Array | None = None


def paint(
    layers: Sequence[Layer], view: View, background: Sequence[float], samples: int = 2
) -> Array:
    """The picture of layers, each over those before it and hidden by nearer opaque ones.

    Args:
        layers: opaque layers first.
        view: the projection.
        background: red, green, blue and opacity, 0 to 1.
        samples: fine pixels per pixel in both directions.

    Returns:
        red, green, blue and opacity, 0 to 255, shape (height, width, 4), uint8.
    """
    fine = view.finer(samples)
    r, g, b, a = background
    colour = np.empty((fine.height * fine.width, 4), np.float32)
    colour[:] = (r * a, g * a, b * a, a)  # multiplied by opacity, so that averages are right
    nearest = np.zeros(len(colour), np.float32)  # inverse depth; 0 is infinitely far
    for layer in layers:
        layer = clipped(layer, fine.near)
        pixels, triangles, inverse = visible(layer.corners, fine)
        seen = inverse > nearest[pixels]
        pixels, triangles = pixels[seen], triangles[seen]
        shade = np.ones((len(pixels), 4), np.float32)
        shade[:, :3] = shaded(layer, triangles, pixels, fine)
        if layer.alpha is None:
            colour[pixels], nearest[pixels] = shade, inverse[seen]
        else:
            alpha = layer.alpha[triangles, None].astype(np.float32)
            colour[pixels] = alpha * shade + (1 - alpha) * colour[pixels]
    return averaged(colour, view, samples)


def averaged(colour: Array, view: View, samples: int) -> Array:
    """Mean of the fine pixels of every pixel, with colours divided by opacity again."""
    blocks = colour.reshape(view.height, samples, view.width, samples, 4)
    total = np.zeros((view.height, view.width, 4), np.float32)
    for i in range(samples):
        for j in range(samples):
            total += blocks[:, i, :, j]
    total /= samples * samples
    opacity = total[..., 3:]
    total[..., :3] /= np.where(opacity > 0, opacity, 1)
    return (255 * np.clip(total, 0, 1) + 0.5).astype(np.uint8)


def clipped(layer: Layer, near: float) -> Layer:
    """The layer without everything nearer than `near`; triangles across it are cut."""
    before = layer.corners[..., 2] > near
    count = before.sum(axis=1)
    if (count == 3).all():
        return layer
    normals = np.zeros_like(layer.corners) if layer.normals is None else layer.normals
    both = np.concatenate([layer.corners, normals], axis=-1)
    kept, origin = [both[count == 3]], [np.flatnonzero(count == 3)]
    for inside in (1, 2):
        some = both[count == inside]
        # turned about so that the corner that is alone on its side comes first
        alone = np.argmax(before[count == inside] == (inside == 1), axis=1)
        some = np.take_along_axis(some, (alone[:, None, None] + np.arange(3)[:, None]) % 3, 1)
        a, b, c = some[:, 0], some[:, 1], some[:, 2]
        ab, ac = (a + (near - a[:, 2:3]) / (x[:, 2:3] - a[:, 2:3]) * (x - a) for x in (b, c))
        pieces = [(a, ab, ac)] if inside == 1 else [(ab, b, c), (ab, c, ac)]
        kept += [np.stack(piece, axis=1) for piece in pieces]
        origin += [np.flatnonzero(count == inside)] * len(pieces)
    triangles, source = np.concatenate(kept), np.concatenate(origin)
    normals = None if layer.normals is None else triangles[..., 3:]
    alpha = None if layer.alpha is None else layer.alpha[source]
    return Layer(triangles[..., :3], layer.colours[source], normals, alpha)


def visible(corners: Array, view: View) -> tuple[Array, Array, Array]:
    """Pixels that triangles (m, 3, 3) cover, the nearest triangle there, and its inverse depth."""
    flat = view.project(corners)
    inverse = 1 / corners[..., 2]
    gradient, offset = planes(flat, inverse)
    low, high = inverse.min(axis=1), inverse.max(axis=1)
    keys = np.zeros(view.width * view.height, np.uint64)
    for triangle, x, y in fragments(flat, view):
        value = offset[triangle] + gradient[triangle, 0] * (x + 0.5)
        value += gradient[triangle, 1] * (y + 0.5)
        # rounding in a very thin triangle can leave the range of its corners
        value = np.clip(value, low[triangle], high[triangle]).astype(np.float32)
        key = value.view(np.uint32).astype(np.uint64) << np.uint64(32)  # ordered like the numbers
        np.maximum.at(keys, y * view.width + x, key | triangle.astype(np.uint64))
    pixels = np.flatnonzero(keys)
    nearest = keys[pixels]
    depth = (nearest >> np.uint64(32)).astype(np.uint32).view(np.float32)
    return pixels, (nearest & np.uint64(0xFFFFFFFF)).astype(np.int64), depth


def planes(flat: Array, values: Array) -> tuple[Array, Array]:
    """Gradient (m, 2) and offset (m,) of the linear function with values (m, 3) at pixels flat."""
    a, b, c = flat[:, 0], flat[:, 1], flat[:, 2]
    u, v = b - a, c - a
    area = u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0]
    du, dv = values[:, 1] - values[:, 0], values[:, 2] - values[:, 0]
    over = 1 / np.where(area == 0, np.inf, area)  # seen from the side: the value of one corner
    gradient = np.stack([du * v[:, 1] - dv * u[:, 1], dv * u[:, 0] - du * v[:, 0]], -1)
    gradient = gradient * over[:, None]
    return gradient, values[:, 0] - (gradient * a).sum(axis=1)


def fragments(flat: Array, view: View) -> Iterator[tuple[Array, Array, Array]]:
    """Triangle, column and row of every pixel whose centre is inside a triangle (m, 3, 2).

    An edge is always followed downward, so that its two triangles agree on every row and leave no
    hole between them.
    """
    y = flat[..., 1]
    first = np.ceil(np.clip(y.min(axis=1), 0, view.height) - 0.5).astype(np.int64)
    last = np.floor(np.clip(y.max(axis=1), 0, view.height) - 0.5).astype(np.int64)
    owner, row = spread(first, last)
    middle = row + 0.5
    low, high = np.full(len(row), np.inf), np.full(len(row), -np.inf)
    for i, j in EDGES:
        down = flat[:, i, 1] <= flat[:, j, 1]
        upper = np.where(down[:, None], flat[:, i], flat[:, j])
        lower = np.where(down[:, None], flat[:, j], flat[:, i])
        rise = lower[:, 1] - upper[:, 1]
        slope = (lower[:, 0] - upper[:, 0]) / np.where(rise > 0, rise, 1)
        crossed = (upper[owner, 1] <= middle) & (middle < lower[owner, 1])
        x = upper[owner, 0] + (middle - upper[owner, 1]) * slope[owner]
        low = np.where(crossed, np.minimum(low, x), low)
        high = np.where(crossed, np.maximum(high, x), high)
    start = np.ceil(np.clip(low, 0, view.width) - 0.5).astype(np.int64)
    end = np.floor(np.clip(high, 0, view.width) - 0.5).astype(np.int64)
    widths = np.cumsum(np.maximum(end - start + 1, 0))
    begin = 0
    while begin < len(row):
        done = widths[begin - 1] if begin else 0
        stop = max(begin + 1, int(np.searchsorted(widths, done + MAX_FRAGMENTS, "right")))
        span, x = spread(start[begin:stop], end[begin:stop])
        yield owner[begin:stop][span], x, row[begin:stop][span]
        begin = stop


def spread(first: Array, last: Array) -> tuple[Array, Array]:
    """All whole numbers from first[k] to last[k], for every k in order: the k and the numbers."""
    count = np.maximum(last - first + 1, 0)
    owner = np.repeat(np.arange(len(count)), count)
    before = np.cumsum(count) - count
    return owner, np.arange(len(owner)) - before[owner] + first[owner]


def shaded(layer: Layer, triangles: Array, pixels: Array, view: View) -> Array:
    """Colours of pixels on triangles, (k, 3), 0 to 1; black parts get enough to show their shape.

    Triangles without normals, such as those of lines, have their own colour.
    """
    colours = layer.colours[triangles]
    if layer.normals is None:
        return colours
    amount = light(layer.normals, layer, triangles, pixels, view)[:, None]
    return np.minimum(np.maximum(colours, DARKEST) * amount + GLOSS * amount**9, 1)


def light(normals: Array, layer: Layer, triangles: Array, pixels: Array, view: View) -> Array:
    """Light of pixels on triangles, 0 to 1: normals are interpolated in space, not on the screen.

    The eye is along +z of the normals' frame and far away, as in viewer.js.
    """
    corners = layer.corners[triangles]
    flat, inverse = view.project(corners), 1 / corners[..., 2]
    at = np.stack([pixels % view.width, pixels // view.width], -1) + 0.5
    ways = flat - at[:, None]
    weights = np.stack([_cross(ways[:, 1], ways[:, 2]), _cross(ways[:, 2], ways[:, 0]),
                        _cross(ways[:, 0], ways[:, 1])], -1)  # fmt: skip
    weights *= inverse
    normal = np.einsum("ki,kij->kj", weights, normals[triangles])
    size = np.sqrt(np.einsum("kj,kj->k", normal, normal))
    return AMBIENT + LIT * np.abs(normal[:, 2]) / np.where(size > 0, size, 1)


def _cross(a: Array, b: Array) -> Array:
    return a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]


def corner_normals(mesh: TriangleMesh) -> Array:
    """Normals (m, 3, 3) at the corners of every triangle, shared across edges that are not sharp.

    A corner's normal is the sum of the unit normals of the triangles at its vertex that make less
    than the crease angle with its own triangle. Corners at one vertex form a ring; the corner k
    places further in the ring is added for k = 0, 1, ... up to the largest ring.
    """
    a, b, c = (mesh.vertices[mesh.triangles[:, k]] for k in range(3))
    faces = np.cross(b - a, c - a)
    size = np.linalg.norm(faces, axis=1)[:, None]
    faces = np.where(size > 0, faces / np.where(size > 0, size, 1), [0.0, 0.0, 1.0])
    vertex = np.ravel(mesh.triangles)
    order = np.argsort(vertex, kind="stable")
    ring = np.bincount(vertex)[vertex[order]]
    start = np.searchsorted(vertex[order], vertex[order])
    face = order // 3
    total = np.zeros((len(order), 3))
    place = np.arange(len(order)) - start
    own = np.arange(len(order))
    for k in range(int(ring.max(initial=0))):
        own = own[ring[own] > k]
        other = face[start[own] + (place[own] + k) % ring[own]]
        smooth = np.einsum("kj,kj->k", faces[face[own]], faces[other]) > CREASE
        total[own[smooth]] += faces[other[smooth]]
    normals = np.empty_like(total)
    normals[order] = total
    return normals.reshape(-1, 3, 3)


def ribbons(lines: Array, view: View, width: float) -> Array:
    """Lines (k, 2, 3) before the eye as triangles (2k, 3, 3) that are `width` pixels wide.

    A line that is partly behind the eye is cut; one that is wholly behind it has no width.
    """
    a, b, near = lines[:, 0], lines[:, 1], view.near * (1 + 1e-9)
    gap = b[:, 2:] - a[:, 2:]
    cut = a + (near - a[:, 2:]) / np.where(gap == 0, 1, gap) * (b - a)
    lines = np.stack([np.where(x[:, 2:] > near, x, cut) for x in (a, b)], 1)
    lines[(a[:, 2] <= near) & (b[:, 2] <= near)] = (0, 0, near)
    flat = view.project(lines)
    along = flat[:, 1] - flat[:, 0]
    size = np.linalg.norm(along, axis=1)[:, None]
    aside = np.stack([-along[:, 1], along[:, 0]], -1) / np.where(size > 0, size, 1) * (width / 2)
    left, right = (view.unproject(flat + s * aside[:, None], lines[..., 2]) for s in (1, -1))
    one = np.stack([left[:, 0], left[:, 1], right[:, 1]], 1)
    two = np.stack([left[:, 0], right[:, 1], right[:, 0]], 1)
    return np.concatenate([one, two])
