"""Linear dependencies among the parameters of links at every state, from the joints' geometry.

Mass on the axis of a hinge moves in the same way on the link and on its parent: a point on the
axis, its shift along the axis, and a spread along the axis may be moved from one to the other. A
sliding link turns with its parent, so every spread may. Most of the inertia of links that can only
turn about parallel axes has no effect, and even less of the first link. Each dependency is a row
over the links' parameters, ten for each link, whose joint forces are zero.
"""

import numpy as np

from kinetree.core.arrays import Array, known
from kinetree.dynamics.parameters import INDEX, LINK, ParameterLayout
from kinetree.files.description.joints import FREE, PLANAR, PRISMATIC, REVOLUTE, SPHERICAL
from kinetree.model import WORLD, Model
from kinetree.scalars import Scalar
from kinetree.spatial import cross

UNIT = np.eye(3, dtype=int)
PAIRS = [(a, b) for a in range(3) for b in range(a, 3)]
PARALLEL = 1e-9


def regrouping_rules(model: Model) -> Array:
    """All dependencies that the rules give, (r, 10 links); rows may be dependent."""
    rows: list[Array] = []
    for i in model.links:
        for moved, theirs in _handed(model, i):
            rows.append(_row(model, {i: moved, model.parent[i]: -theirs}))
        rows += [_row(model, {i: moved}) for moved in _unfelt(model, i)]
    return np.array(rows).reshape(len(rows), ParameterLayout(len(model.links)).bodies)


def _row(model: Model, parts: dict[int, Array]) -> Array:
    """A row with the given ten entries at some links; entries of WORLD are dropped."""
    zero = np.zeros(len(LINK), int)
    return np.concatenate([parts.get(i, zero) for i in model.links])


def _handed(model: Model, i: int) -> list[tuple[Array, Array]]:
    """Parameters that may be moved from link i to its parent: ten numbers in {i} and in {p}."""
    joint = model.joints[i]
    R, p = model.M_pi[i][:3, :3], model.M_pi[i][:3, 3]
    if joint.type == SPHERICAL:
        return [(point(UNIT[0] * 0), point(p))]
    if joint.type == PRISMATIC and joint.screw is not None:
        spreads = [np.outer(UNIT[a], UNIT[b]) + np.outer(UNIT[b], UNIT[a]) for a, b in PAIRS]
        pairs = [(spread(S), spread(R @ S @ R.T)) for S in spreads]
        return pairs + _slid_along_axis(model, i)
    if joint.type == PLANAR:
        return [(line(UNIT[2]), line(R[:, 2]))]
    if joint.type == FREE or joint.screw is None:
        return []
    w = joint.screw[:3]
    pairs = [(line(w), line(R @ w))]
    if joint.type == REVOLUTE:
        c = cross(w, joint.screw[3:])
        pairs += [(point(c), point(R @ c + p)), (shift(c, w), shift(R @ c + p, R @ w))]
    return pairs


def _slid_along_axis(model: Model, i: int) -> list[tuple[Array, Array]]:
    """Moments across the axis, for a link that slides along the only axis that it turns about."""
    w = turning_axis(model, i)
    joint = model.joints[i]
    if w is None or joint.screw is None or not _parallel(w, joint.screw[3:]):
        return []
    R, p = model.M_pi[i][:3, :3], model.M_pi[i][:3, 3]
    zero = UNIT[0] * 0
    return [(shift(zero, u), shift(p, R @ u)) for u in _across(w)]


def _unfelt(model: Model, i: int) -> list[Array]:
    """Parameters of link i without effect, because the link cannot turn in every direction."""
    w = turning_axis(model, i)
    if w is None:
        return []
    if not np.any(w != 0):  # it never turns
        return [*(shift(UNIT[0] * 0, e) for e in UNIT), *(inertia(a, b) for a, b in PAIRS)]
    u, v = _across(w)
    frame = np.array([u, v, w])
    unfelt = [
        _ten(0, UNIT[0] * 0, np.outer(frame[a], frame[b]) + np.outer(frame[b], frame[a]))
        for a, b in PAIRS
        if (a, b) != (2, 2)
    ]
    unfelt.append(_ten(0, w, np.zeros((3, 3), int)))
    joint = model.joints[i]
    alone = model.parent[i] == WORLD and joint.type == REVOLUTE and joint.screw is not None
    if alone and _upright(model, i, w):  # turning about the direction of gravity changes no height
        c = cross(w, joint.screw[3:])  # type: ignore[index]
        unfelt += [shift(c, u), shift(c, v)]
    return unfelt


def turning_axis(model: Model, i: int) -> Array | None:
    """The one direction, in {i}, about which link i can turn; 0 if none, None if several."""
    axis = None
    R = UNIT
    for j in reversed(model.path(i)):
        joint = model.joints[j]
        if joint.type in (SPHERICAL, FREE):
            return None
        if joint.type != PRISMATIC:
            axis_of_joint = UNIT[2] if joint.screw is None else joint.screw[:3]
            w = R @ axis_of_joint
            if axis is not None and not _parallel(axis, w):
                return None
            axis = w if axis is None else axis
        # at q = 0; turns about the common axis leave it where it is
        R = R @ model.M_pi[j][:3, :3].T
    return UNIT[0] * 0 if axis is None else axis


def _upright(model: Model, i: int, w: Array) -> bool:
    return _parallel(model.M_pi[i][:3, :3] @ w, model.gravity[3:])


def _parallel(a: Array, b: Array) -> bool:
    """Return True if the cross product is zero; of symbols, if it is zero without simplifying."""
    normal = cross(a, b)
    values, size = known(normal), known(b)
    if values is None or size is None:
        return all(x == 0 for x in normal)
    return float(np.linalg.norm(values)) <= PARALLEL * float(np.linalg.norm(size))


def _across(w: Array) -> tuple[Array, Array]:
    """Two directions that are perpendicular to w and to each other; of any length."""
    values = known(w)
    k = 0 if values is None else int(np.argmin(np.abs(values)))
    if values is None:
        k = next((j for j in range(3) if w[j] == 0), 0)
    u = cross(w, UNIT[k])
    return u, cross(w, u)


def point(x: Array) -> Array:
    """A unit mass at x."""
    return _ten(1, x, UNIT * (x @ x) - np.outer(x, x))


def shift(x: Array, u: Array) -> Array:
    """A unit mass shifted from x along u: the first derivative of `point`."""
    return _ten(0, u, 2 * UNIT * (x @ u) - np.outer(x, u) - np.outer(u, x))


def line(w: Array) -> Array:
    """A spread along w: half the second derivative of `point`, wherever it is."""
    return _ten(0, UNIT[0] * 0, UNIT * (w @ w) - np.outer(w, w))


def spread(S: Array) -> Array:
    """A second moment S without mass."""
    return _ten(0, UNIT[0] * 0, UNIT * (S[0, 0] + S[1, 1] + S[2, 2]) - S)


def inertia(a: int, b: int) -> Array:
    """A unit of one entry of the inertia."""
    return np.array([0, 0, 0, 0, *(int((a, b) == x) for x in INDEX)])


def _ten(m: Scalar, h: Array, I: Array) -> Array:
    return np.array([m, *h, *(I[a, b] for a, b in INDEX)])
