"""Poses as typed, X Y Z QW QX QY QZ, or in the rows of a CSV file."""

import numpy as np

from kinetree.cli import recordings, robots, states
from kinetree.core.arrays import Array
from kinetree.core.text import counted
from kinetree.errors import InputError
from kinetree.spatial import pose as pose_of
from kinetree.spatial.so3 import quaternion_rotation

NAMES = ("X", "Y", "Z", "QW", "QX", "QY", "QZ")
UNIT_LENGTH = 1e-3  # by which the length of a quaternion may differ from 1


def typed_pose(name: str, words: states.Words, *, rotated: bool) -> Array:
    """The pose (4, 4) or the position (3,) of typed numbers X Y Z and QW QX QY QZ."""
    pieces, count = states.pieces_of(words), 7 if rotated else 3
    if len(pieces) != count:
        raise InputError(
            f"{name} has {counted(len(pieces), 'number')}; expected {' '.join(NAMES[:count])}."
        )
    x = np.array([robots.typed_number(name, *part) for part in zip(NAMES, pieces, strict=False)])
    return poses(x[None], name)[0] if rotated else x


def read_path(path: str) -> Array:
    """Poses (T, 4, 4) or positions (T, 3) of a CSV file with named columns."""
    lines = (
        recordings.existing_file(path, "a CSV file with columns x, y, z")
        .read_text("utf-8")
        .splitlines()
    )
    heads = [x.strip().lower() for x in lines[0].split(",")] if lines else []
    try:
        table = np.loadtxt(lines[1:], delimiter=",", ndmin=2)
    except ValueError as error:
        raise InputError(f"{path} is not a table of numbers: {error}.") from None
    wanted = [x.lower() for x in NAMES[: 7 if "qw" in heads else 3]]
    if missing := [x for x in wanted if x not in heads]:
        raise InputError(f"{path} has no column {missing[0]!r}; expected {', '.join(wanted)}.")
    if not len(table) or table.shape[1] != len(heads):
        raise InputError(f"{path} has {counted(len(heads), 'name')} and rows {table.shape}.")
    x = table[:, [heads.index(name) for name in wanted]]
    return poses(x, path) if len(wanted) == 7 else x


def poses(x: Array, name: str) -> Array:
    """Poses, (T, 4, 4), of rows X Y Z QW QX QY QZ."""
    lengths = np.linalg.norm(x[:, 3:], axis=1)
    for k in np.flatnonzero(~(np.abs(lengths - 1) <= UNIT_LENGTH))[:1].tolist():
        raise InputError(f"QW QX QY QZ of {name} has length {lengths[k]:.6g}; expected 1.")
    turned = x[:, 3:] / lengths[:, None]
    return np.array(
        [pose_of(quaternion_rotation(turn), row[:3]) for turn, row in zip(turned, x, strict=True)]
    )
