"""What the scripts of a page know: the kinematic tree, the parts to draw, the sliders."""

import base64
from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.model import Model
from kinetree.motion.bounds import bounds_of
from kinetree.views.camera import OPENING, Camera
from kinetree.views.parts import Part, Parts
from kinetree.views.rest import Handle, handles
from kinetree.views.shapes import Scene, TriangleMesh


def robot_data(model: Model) -> dict[str, Any]:
    """Tree, joints, masses and tool, as kinematics.js reads them."""
    tool = model.frame()
    return {
        "n": model.n,
        "gravity": _numbers(model.gravity[3:]),
        "tool": {"link": tool.link, "T": _numbers(tool.T_if)},
        "links": [link_data(model, i) for i in model.links],
    }


def link_data(model: Model, i: int) -> dict[str, Any]:
    """One link and its joint."""
    joint = model.joints[i]
    return {
        "parent": model.parent[i],
        "M": _numbers(model.M_pi[i]),
        "type": joint.type,
        "coords": list(joint.coords),
        "dofs": list(joint.dofs),
        "screw": None if joint.screw is None else _numbers(joint.screw),
        "scale": float(joint.scale),
        "offset": float(joint.offset),
        "axes": np.asarray(joint.A, float).T.tolist(),
        "m": float(model.m[i]),
        "com": _numbers(model.com[i]),
    }


def scene_data(scene: Scene, parts: Parts, camera: Camera) -> dict[str, Any]:
    """Meshes, parts and the camera, as viewer.js reads them."""
    return {
        "extent": scene.extent,
        "shown": list(scene.shown),
        "meshes": {name: mesh_data(mesh) for name, mesh in parts.meshes.items()},
        "parts": [part_data(part) for part in parts.parts],
        "camera": {
            "target": _numbers(camera.target),
            "eye": _numbers(camera.eye),
            "up": _numbers(camera.up),
            "distance": camera.distance,
            "floor": camera.floor,
            "opening": OPENING,
        },
    }


def mesh_data(mesh: TriangleMesh) -> dict[str, str]:
    """Corners as float32 and triangles as uint32, base64."""
    return {
        "vertices": _base64(np.asarray(mesh.vertices, "<f4")),
        "triangles": _base64(np.asarray(mesh.triangles, "<u4")),
    }


def part_data(part: Part) -> dict[str, Any]:
    """A part with N = A^-T of its stretch, which turns normals."""
    N = np.linalg.pinv(part.A[:3, :3]).T
    return {
        "mesh": part.mesh,
        "link": part.link,
        "A": _short(part.A, 8),
        "N": _short(N / (np.abs(N).max() or 1.0), 5),
        "colour": list(part.colour),
        "group": part.group,
    }


def handle_data(model: Model, extent: float) -> list[dict[str, Any]]:
    """Sliders, each with the entry of tau that belongs to it and the limit of that, if any."""
    effort = bounds_of(model).effort
    return [_handle(model, handle, effort) for handle in handles(model, extent)]


def _handle(model: Model, handle: Handle, effort: Array) -> dict[str, Any]:
    joint = model.joints[handle.joint]
    dof = joint.dofs[0] if len(joint.dofs) == 1 else None
    limit = float(effort[dof]) if dof is not None else np.inf
    return {
        "coord": handle.coord,
        "turn": handle.turn,
        "unit": handle.unit,
        "start": handle.start,
        "dof": dof,
        "effort": limit if np.isfinite(limit) and limit > 0 else None,
    }


def _numbers(x: Any) -> list[float]:
    return np.asarray(x, float).ravel().tolist()


def _short(x: Array, digits: int) -> list[float]:
    """Numbers with so many digits; what is rounding beside the largest is zero."""
    dust = 10.0**-digits * np.abs(x[:3]).max(initial=0.0)  # not beside the 1 of a pose
    return [float(f"{entry:.{digits}g}") if abs(entry) > dust else 0.0 for entry in _numbers(x)]


def _base64(x: Array) -> str:
    return base64.b64encode(x.tobytes()).decode()
