"""The stage of a page: the robot drawn, its switches and sliders, and the data of its scripts."""

import base64
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.core.arrays import Array, ArrayLike
from kinetree.model import Model
from kinetree.model.bounds import bounds_of
from kinetree.present.tables import escape
from kinetree.robot import Robot
from kinetree.views.camera import OPENING, Camera, camera
from kinetree.views.loops import closed_rest, loop_data, wrapping
from kinetree.views.movie import png
from kinetree.views.parts import Part, Parts, coarser, parts_of
from kinetree.views.rest import handles
from kinetree.views.scene import scene
from kinetree.views.shapes import Scene, TriangleMesh
from kinetree.views.studio import studio

STILL_SIZE = (720, 470)
STILL_TRIANGLES = 6000
SWITCHES = {
    "visual": "visuals of the file",
    "body": "bodies",
    "joint": "joint axes",
    "loop": "constraints",
    "contact": "contacts",
    "ground": "ground",
    "inertia": "inertia ellipsoids",
    "frame": "frames",
}


@dataclass(frozen=True, eq=False)
class Stage:
    """A robot ready to be drawn: its scene, parts and camera, at position q."""

    robot: Robot
    scene: Scene
    parts: Parts
    camera: Camera
    q: Array

    @property
    def model(self) -> Model:
        """The robot's model."""
        return self.robot.model

    def data(self) -> dict[str, Any]:
        """Data of the scripts of every page."""
        return {
            "robot": robot_data(self.model),
            "scene": scene_data(self.scene, self.parts, self.camera),
            "loops": loop_data(self.model),
        }


def stage_of(
    robot: Robot | Model,
    source: str | os.PathLike[str] | None = None,
    folder: str | os.PathLike[str] | None = None,
    q: Array | None = None,
    drawn: Scene | None = None,
) -> Stage:
    """The stage of a robot at the first of positions q, (k, nq), with a camera that shows all.

    q: None means the position of rest, closed if the robot has constraints. drawn: the robot's
    scene, if it is known already.
    """
    robot = Robot(robot) if isinstance(robot, Model) else robot
    drawn = scene(robot, source, folder) if drawn is None else drawn
    q = closed_rest(robot) if q is None else q
    parts = parts_of(drawn.shapes)
    return Stage(robot, drawn, parts, camera(robot.model, parts, q, drawn.shown), q[0])


def picture_frame(stage: Stage) -> str:
    """The canvas, and a still picture for readers without scripts and for print."""
    name = escape(stage.model.name)
    data = base64.b64encode(still(stage)).decode()
    return (
        f'<div class="picture"><canvas id="view" tabindex="0" aria-label="{name}, drag to turn">'
        f'</canvas><img alt="{name}" src="data:image/png;base64,{data}"></div>'
    )


def still(stage: Stage, size: tuple[int, int] = STILL_SIZE) -> bytes:
    """A still picture of the stage, as the content of a PNG file without background."""
    parts = Parts(coarser(stage.parts.meshes, STILL_TRIANGLES), stage.parts.parts)
    place = studio(
        stage.model, stage.scene, parts, stage.q[None], shown=(*stage.scene.shown, "floor"),
        size=size, theme="light", camera=stage.camera, zoom=1,
    )  # fmt: skip
    return png(place.frame(stage.q, 2, transparent=True))


def switches(stage: Stage) -> str:
    """Checkboxes for the groups of the scene, and the button home."""
    groups = {shape.group for shape in stage.scene.shapes}
    boxes = [
        f'<label><input type="checkbox" data-group="{group}"> {words}</label>'
        for group, words in SWITCHES.items()
        if group in groups
    ]
    boxes.append('<button type="button" id="home">home</button>')
    return f'<div class="switches">{"".join(boxes)}</div>'


def tool_line(stage: Stage) -> str:
    """Position of the tool, filled in by the script; empty for a robot without one."""
    tool = stage.model.tool
    if tool is None:
        return ""
    return f'<p class="soft">Tool <b>{escape(tool)}</b> at <span id="tool"></span> m</p>'


def sliders(stage: Stage) -> str:
    """One slider per degree of freedom, with the force that holds the joint against gravity.

    The forces of a robot with constraints are those of its motors, which scripts do not compute.
    """
    rows = []
    listed = handles(stage.model, stage.scene.extent, stage.q)
    for handle, data in zip(listed, handle_data(stage), strict=True):
        k, label = len(rows), escape(handle.label)
        bar = '<span class="bar"><i></i></span>' if data["effort"] else "<span></span>"
        held = data["dof"] is not None and stage.model.constraints is None
        force = "" if not held else f'{bar}<span class="force"></span>'
        rows.append(
            f'<div class="handle"><label for="h{k}" title="{label}">{label}</label>'
            f'<output for="h{k}"></output><input id="h{k}" type="range" min="{handle.low!r}" '
            f'max="{handle.high!r}" step="any" value="{handle.start!r}">{force}</div>'
        )
    return f'<div class="handles">{"".join(rows)}</div>'


def robot_data(model: Model) -> dict[str, Any]:
    """Tree, joints, masses and tool, as kinematics.js reads them."""
    tool = None if model.tool is None else model.frame()
    return {
        "n": model.n,
        "gravity": _numbers(model.gravity[3:]),
        "tool": None if tool is None else {"link": tool.link, "T": _numbers(tool.T_if)},
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
        "parts": part_records(parts.parts),
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


def part_records(parts: Sequence[Part]) -> list[dict[str, Any]]:
    """Parts, each with N = A^-T of its linear map, which transforms normals."""
    maps = np.reshape([part.A for part in parts], (-1, 4, 4))
    N = np.linalg.pinv(maps[:, :3, :3]).swapaxes(1, 2)
    size = np.abs(N).max(axis=(1, 2), initial=0.0, keepdims=True)
    shortened = zip(_short(maps, 8), _short(N / np.where(size == 0, 1.0, size), 5), strict=True)
    return [
        {
            "mesh": part.mesh,
            "link": part.link,
            "A": A,
            "N": its_N,
            "colour": list(part.colour),
            "group": part.group,
        }
        for part, (A, its_N) in zip(parts, shortened, strict=True)
    ]


def handle_data(stage: Stage) -> list[dict[str, Any]]:
    """Sliders, each with its entry of tau and the effort limit of that entry, if any."""
    effort, turns = bounds_of(stage.model).effort, wrapping(stage.model)
    records: list[dict[str, Any]] = []
    for handle in handles(stage.model, stage.scene.extent, stage.q):
        dofs = stage.model.joints[handle.joint].dofs
        dof = dofs[0] if len(dofs) == 1 else None
        limit = np.inf if dof is None else float(effort[dof])
        data = {name: getattr(handle, name) for name in ("coord", "turn", "unit", "start")}
        limited = np.isfinite(limit) and limit > 0
        data |= {"dof": dof, "effort": limit if limited else None}
        records.append(data | {"wraps": handle.turn is None and handle.coord in turns})
    return records


def _numbers(x: ArrayLike) -> list[float]:
    return np.asarray(x, float).ravel().tolist()


def _short(x: Array, digits: int) -> list[list[float]]:
    """Numbers of each array with few digits; rounding errors of its largest become zero."""
    # without the last row of a pose
    dust = 10.0**-digits * np.abs(x[:, :3]).max(axis=(1, 2), initial=0.0, keepdims=True)
    rows: list[list[float]] = np.where(np.abs(x) > dust, x, 0.0).reshape(len(x), -1).tolist()
    return [[float(f"{entry:.{digits}g}") if entry else 0.0 for entry in row] for row in rows]


def _base64(x: Array) -> str:
    return base64.b64encode(x.tobytes()).decode()
