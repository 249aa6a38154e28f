"""A still picture of a robot as SVG, for print and for readers without scripts."""

import numpy as np

from kinetree.base.arrays import Array
from kinetree.views.camera import OPENING, Camera
from kinetree.views.parts import Parts

WIDTH, HEIGHT = 720, 470


def picture(
    parts: Parts, poses: dict[int, Array], camera: Camera, groups: tuple[str, ...], label: str
) -> str:
    """The parts of some groups, far triangles first; `label` is escaped text for screen readers."""
    scale = HEIGHT / 2 / np.tan(OPENING / 2)
    triangles: list[tuple[float, str]] = []
    for part in parts.parts:
        if part.group not in groups:
            continue
        mesh, A = parts.meshes[part.mesh], poses[part.link] @ part.A
        corners = (mesh.vertices @ A[:3, :3].T + A[:3, 3])[mesh.triangles]
        triangles += _visible(corners, part.colour, camera, scale)
    triangles.sort(key=lambda x: -x[0])
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}" '
        'stroke-width="0.6" stroke-linejoin="round">'
        f"{''.join(text for _, text in triangles)}</svg>"
    )


def _visible(
    corners: Array, colour: tuple[int, int, int], camera: Camera, scale: float
) -> list[tuple[float, str]]:
    """Depth and markup of the triangles (m, 3, 3) that face the eye, lit from it."""
    seen = (corners - camera.target) @ camera.axes.T
    depth = camera.distance - seen[..., 2]
    with np.errstate(divide="ignore", invalid="ignore"):
        x = WIDTH / 2 + scale * seen[..., 0] / depth
        y = HEIGHT / 2 - scale * seen[..., 1] / depth
        normals = np.cross(seen[:, 1] - seen[:, 0], seen[:, 2] - seen[:, 0])
        normals /= np.linalg.norm(normals, axis=1)[:, None]
    to_eye = np.array([0, 0, camera.distance]) - seen.mean(axis=1)
    facing = np.einsum("ij,ij->i", normals, to_eye / np.linalg.norm(to_eye, axis=1)[:, None])
    drawn = (depth.min(axis=1) > 0) & (facing > 0)
    found = []
    for k in np.flatnonzero(drawn):
        light = 0.38 + 0.62 * min(float(facing[k]), 1.0)
        rgb = "#" + "".join(f"{int(c * light):02x}" for c in colour)
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x[k], y[k], strict=True))
        mark = f'<polygon points="{points}" fill="{rgb}" stroke="{rgb}"/>'
        found.append((float(depth[k].mean()), mark))
    return found
