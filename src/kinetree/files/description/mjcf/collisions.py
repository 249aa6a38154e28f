"""Geoms of a compiled MJCF model that can touch: shapes of the robot, and the ground.

MuJoCo decides by bits which geoms touch (contype, conaffinity), and takes the friction of a pair
from the geom of higher priority, or else the larger one.
"""

from collections.abc import Iterator
from math import atan2
from typing import Any

import numpy as np

from kinetree.core.arrays import times
from kinetree.errors import KinetreeError
from kinetree.files.description.collisions import (
    DEFAULT_FRICTION,
    Collisions,
    CollisionShape,
    with_own_names,
)
from kinetree.files.description.contacts import Box, Boxes, Ground, HeightField, Plane
from kinetree.files.description.mjcf.bodies import mesh_geoms, pose_of
from kinetree.files.description.mjcf.compile import Compiled

KINDS = ("plane", "height field", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh")
Pairs = dict[frozenset[int], float]  # friction by the two geoms
MAX_BOXES = 128  # of the ground: every step computes all of them, for every contact
LEVEL = 1e-9  # tilt of a box or height field that counts as upright


def read_collisions(compiled: Compiled, *, start: bool = False) -> Collisions:
    """Shapes that can touch the ground of the file, or any ground if it has none.

    start: also list what touches where the file starts, and is not modelled.
    """
    m = compiled.model
    if compiled.disabled("CONTACT", "CONSTRAINT"):
        return Collisions(left_out=("all contacts, which the file disables",))
    pairs = _pairs(m)
    paired = {g for pair in pairs for g in pair}
    bits = [bool(m.geom_contype[g] or m.geom_conaffinity[g]) for g in range(m.ngeom)]
    solid = [g for g in range(m.ngeom) if bits[g] or g in paired]
    static = [g for g in solid if not int(m.body_weldid[m.geom_bodyid[g]])]
    ground, pieces, obstacles, changed = _ground(compiled, static)
    changed += [
        f"the <pair> of {m.geom(m.pair_geom1[k]).name!r} and {m.geom(m.pair_geom2[k]).name!r} has "
        "a friction for each direction"
        for k in range(m.npair)
        if m.pair_dim[k] > 1 and np.ptp(m.pair_friction[k, :2])
    ]
    left_out: list[str] = []
    paths = mesh_geoms(compiled)
    shapes: list[CollisionShape] = []
    for g in solid:
        partners = [x for x in pieces if _can_touch(m, pairs, g, x)]
        if g in static or (pieces and not partners):
            continue
        frictions = [_friction(m, pairs, g, x) for x in partners] or [_friction(m, pairs, g, None)]
        if len(set(frictions)) > 1:
            changed.append(f"friction of {_name(compiled, g)} differs between pieces of ground")
        kind, size = _shape(compiled, g)
        link, path = compiled.body_names[int(m.geom_bodyid[g])], ""
        T = pose_of(m.geom_pos[g], m.geom_quat[g], f"geom {g}")
        if g in paths:
            T, size, path = paths[g].T, paths[g].scale, paths[g].path
        shapes.append(CollisionShape(m.geom(g).name, link, kind, T, size, frictions[0], None, path))
    if any(not pair & set(pieces) for pair in pairs):
        left_out.append("contact pairs (<pair>) without the ground")
    if any(int(m.geom_condim[g]) > 3 for g in solid):
        left_out.append("torsional and rolling friction (condim 4 and 6)")
    touching = tuple(_touching(compiled, pieces)) if start else ()
    named = with_own_names(iter(shapes))
    return Collisions(named, ground, tuple(left_out), tuple(obstacles), touching, tuple(changed))


def _name(c: Compiled, g: int) -> str:
    name = c.model.geom(g).name
    return f"geom {name!r}" if name else f"a geom of {c.body_names[int(c.model.geom_bodyid[g])]!r}"


def _pairs(m: Any) -> Pairs:
    """Geoms of the <pair> elements, with their friction."""
    geoms = zip(map(int, m.pair_geom1), map(int, m.pair_geom2), strict=True)
    frictions = np.where(m.pair_dim > 1, m.pair_friction[:, 0], 0.0).tolist()
    return dict(zip(map(frozenset, geoms), frictions, strict=True))


def _can_touch(m: Any, pairs: Pairs, a: int, b: int) -> bool:
    if frozenset((a, b)) in pairs:
        return True
    first, second = sorted((int(m.geom_bodyid[a]), int(m.geom_bodyid[b])))
    if any(int(x) == (first << 16) + second for x in m.exclude_signature):
        return False
    kinds, partners = m.geom_contype, m.geom_conaffinity
    return bool(int(kinds[a]) & int(partners[b]) or int(kinds[b]) & int(partners[a]))


def _friction(m: Any, pairs: Pairs, a: int, b: int | None) -> float:
    """Sliding friction of a pair; 0 without friction (condim 1). b None: MuJoCo's default geom."""
    if b is not None and frozenset((a, b)) in pairs:
        return pairs[frozenset((a, b))]
    numbers = zip(m.geom_priority, m.geom_condim, m.geom_friction[:, 0].tolist(), strict=True)
    sides = list(numbers)
    pair = sides[a], (0, 3, DEFAULT_FRICTION) if b is None else sides[b]
    chosen = [side for side in pair if side[0] == max(priority for priority, _, _ in pair)]
    slides = max(condim for _, condim, _ in chosen) > 1
    return max(friction for _, _, friction in chosen) if slides else 0.0


def _shape(c: Compiled, g: int) -> tuple[str, tuple[float, ...]]:
    """Kind and size of a geom; one that MuJoCo fits to a mesh counts as a mesh."""
    a, b, d = (float(x) for x in c.model.geom_size[g])
    kind = KINDS[min(int(c.model.geom_type[g]), len(KINDS) - 1)]
    if int(c.model.geom_dataid[g]) >= 0 and kind != "height field":
        return "mesh", (1.0, 1.0, 1.0)
    sizes = {"sphere": (a,), "capsule": (a, 2 * b), "cylinder": (a, 2 * b)}
    return kind, sizes.get(kind, (2 * a, 2 * b, 2 * d) if kind == "box" else (a, b, d))


def _ground(
    c: Compiled, static: list[int]
) -> tuple[Ground | None, list[int], list[str], list[str]]:
    """The ground of static geoms, and its geoms: one height field, or a plane with boxes.

    Then texts on static geoms that cannot be ground, and on ground that there is no room for.
    """
    made: dict[int, Ground | Box] = {}
    left_out: list[str] = []
    for g in static:
        try:
            piece = _piece(c, g)
            if piece is not None:
                made[g] = piece
            else:
                left_out.append(f"{_name(c, g)} of the world, a {_shape(c, g)[0]}")
        except KinetreeError as problem:
            left_out.append(f"{_name(c, g)}: {problem}")
    fields, planes, boxes = (
        [g for g, x in made.items() if isinstance(x, kind)] for kind in (HeightField, Plane, Box)
    )
    changed: list[str] = []
    if len(boxes) > MAX_BOXES:
        changed.append(f"the world has {len(boxes)} boxes, more than {MAX_BOXES}")
        boxes = []
    used = fields[:1] or [*planes[:1], *boxes]
    ground: Any = next((made[g] for g in used if g not in boxes), None)
    if boxes and not fields:
        below = Plane(point=(0, 0, -1e3)) if ground is None else ground  # boxes without a floor
        ground = Boxes([made[g] for g in boxes], below)  # type: ignore[arg-type]
    beside = (g for g, x in made.items() if g not in used and (boxes or not isinstance(x, Box)))
    changed += [f"{_name(c, g)} of the world is beside other ground" for g in beside]
    return ground, used, left_out, changed


def _piece(c: Compiled, g: int) -> Ground | Box | None:
    """The plane, box or height field of a static geom; None if there is no such ground."""
    m, body = c.model, int(c.model.geom_bodyid[g])
    T = pose_of(m.geom_pos[g], m.geom_quat[g], f"geom {g}")
    while body:
        T = times(pose_of(m.body_pos[body], m.body_quat[body], f"body {body}"), T)
        body = int(m.body_parentid[body])
    R, p = T[:3, :3], T[:3, 3].tolist()
    kind, size = _shape(c, g)
    if kind == "plane":
        return Plane(R[:, 2].tolist(), p)
    if 1 - R[2, 2] > LEVEL:
        return None
    if kind == "box":
        return Box(p, size, atan2(R[1, 0], R[0, 0]))
    if kind != "height field" or abs(R[1, 0]) > LEVEL:
        return None
    k = int(m.geom_dataid[g])
    rows, columns, first = int(m.hfield_nrow[k]), int(m.hfield_ncol[k]), int(m.hfield_adr[k])
    rx, ry, top, _ = (float(x) for x in m.hfield_size[k])
    if rows == columns == 2 and not np.any(m.hfield_data[first : first + 4]):
        return None  # the stand-in of a field whose heights are in another file
    heights = top * m.hfield_data[first : first + rows * columns].reshape(rows, columns).T
    spacing = 2 * rx / (columns - 1), 2 * ry / (rows - 1)
    return HeightField(heights, spacing, (p[0] - rx, p[1] - ry, p[2]))


def _touching(c: Compiled, ground: list[int]) -> Iterator[str]:
    """Pairs of geoms that touch where the file starts and are not contacts with the ground."""
    m, mujoco = c.model, c.mujoco
    data = mujoco.MjData(m)
    mujoco.mj_kinematics(m, data)
    mujoco.mj_comPos(m, data)
    mujoco.mj_collision(m, data)
    modelled = ("sphere", "capsule", "cylinder", "box")
    for contact in list(data.contact)[: data.ncon]:
        a, b = (int(g) for g in contact.geom)
        kinds = _shape(c, a)[0], _shape(c, b)[0]
        ours = [kind in modelled for kind, g in zip(kinds, (b, a), strict=True) if g in ground]
        if contact.dist <= 0 and "mesh" not in kinds and not any(ours):
            yield f"{_name(c, a)} and {_name(c, b)}"
