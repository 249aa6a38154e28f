"""A robot with coloured meshes, made here so that no file of others is needed to draw one.

The arm has the dimensions of kt.robots.panda(). Each link is an OBJ file with a tube to the next
joint and a drum around its own axis, in two colours of one library of materials.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

import kinetree as kt
from kinetree.model import Model

SIDES = 24
COLOURS = {"shell": (0.86, 0.87, 0.9), "drum": (0.1, 0.45, 0.75), "last": (0.9, 0.45, 0.1)}


def tube(start: np.ndarray, end: np.ndarray, radius: float) -> tuple[np.ndarray, np.ndarray]:
    """Corners and triangles of a closed cylinder."""
    along = (end - start) / np.linalg.norm(end - start)
    across = np.cross(along, np.eye(3)[np.argmin(np.abs(along))])
    across /= np.linalg.norm(across)
    angle = 2 * np.pi * np.arange(SIDES) / SIDES
    circle = np.outer(np.cos(angle), across) + np.outer(np.sin(angle), np.cross(along, across))
    ring = radius * circle
    corners = np.vstack([start + ring, end + ring, start[None], end[None]])
    k = np.arange(SIDES)
    j = (k + 1) % SIDES
    triangles = np.vstack(
        [
            np.stack([k, j, j + SIDES], 1),
            np.stack([k, j + SIDES, k + SIDES], 1),
            np.stack([j, k, np.full(SIDES, 2 * SIDES)], 1),
            np.stack([k + SIDES, j + SIDES, np.full(SIDES, 2 * SIDES + 1)], 1),
        ]
    )
    return corners, triangles


def link_parts(model: Model, i: int) -> Iterator[tuple[str, np.ndarray, np.ndarray, float]]:
    """(material, start, end, radius) of the tubes of a link, in its own frame."""
    axis = np.ravel(model.A[i])[:3].astype(float)
    radius = 0.075 - 0.005 * i
    yield ("drum" if i < model.n - 1 else "last", -0.07 * axis, 0.07 * axis, radius)
    for c in model.children[i]:
        end = np.asarray(model.M_pi[c][:3, 3], float)
        if np.linalg.norm(end) > 1e-6:
            yield "shell", np.zeros(3), end, 0.75 * radius


def obj_text(parts: Iterable[tuple[str, np.ndarray, np.ndarray, float]]) -> str:
    """The OBJ file of tubes."""
    lines, first = ["mtllib colours.mtl"], 1
    for material, start, end, radius in parts:
        corners, triangles = tube(start, end, radius)
        lines += [f"v {x:.6f} {y:.6f} {z:.6f}" for x, y, z in corners]
        lines += [f"usemtl {material}"]
        lines += [f"f {a} {b} {c}" for a, b, c in triangles + first]
        first += len(corners)
    return "\n".join(lines) + "\n"


def write_coloured_robot(folder: Path) -> list[Path]:
    """Write the robot; gives its files, the URDF first."""
    folder.mkdir(parents=True, exist_ok=True)
    model = kt.robots.panda().model
    text = kt.convert.to_urdf(kt.robots.panda()).replace(
        'name="Franka Panda"', 'name="coloured arm"'
    )
    files = {
        "colours.mtl": "".join(
            f"newmtl {name}\nKd {r} {g} {b}\n" for name, (r, g, b) in COLOURS.items()
        )
    }
    top = np.asarray(model.M_pi[0][:3, 3], float)
    parts = {model.base_name: [("shell", np.zeros(3), 0.8 * top, 0.07)]}
    parts |= {model.link_names[i]: [*link_parts(model, i)] for i in model.links}
    for link, tubes in parts.items():
        files[f"{link}.obj"] = obj_text(tubes)
        visual = f'<visual><geometry><mesh filename="{link}.obj"/></geometry></visual>'
        head, empty = f'<link name="{link}">', f'<link name="{link}"/>'
        text = text.replace(empty, f"{head}</link>").replace(head, f"{head}\n    {visual}")
    for name, content in {"coloured_arm.urdf": text, **files}.items():
        (folder / name).write_text(content, encoding="utf-8")
    return [folder / name for name in ("coloured_arm.urdf", *files)]
