"""The stage of a page: the robot drawn, switches for what is shown, and sliders."""

from dataclasses import dataclass
from html import escape
from typing import Any

from kinetree.model import Model
from kinetree.robot import Robot
from kinetree.views.camera import Camera, camera, link_poses
from kinetree.views.page.data import handle_data, robot_data, scene_data
from kinetree.views.page.picture import picture
from kinetree.views.parts import Parts, coarser, parts_of
from kinetree.views.rest import handles, rest_position
from kinetree.views.scene import scene
from kinetree.views.shapes import Scene

PICTURE_TRIANGLES = 4000
SWITCHES = {
    "visual": "visuals of the file",
    "body": "bodies",
    "joint": "joint axes",
    "inertia": "inertia ellipsoids",
    "frame": "frames",
}


@dataclass(frozen=True, eq=False)
class Stage:
    """A robot ready to be drawn: its scene, its parts and where to look from."""

    robot: Robot
    scene: Scene
    parts: Parts
    camera: Camera
    q: Any

    @property
    def model(self) -> Model:
        """The robot's model."""
        return self.robot.model

    def data(self) -> dict[str, Any]:
        """What every script of a page needs."""
        return {
            "robot": robot_data(self.model),
            "scene": scene_data(self.scene, self.parts, self.camera),
        }

    def handle_data(self) -> list[dict[str, Any]]:
        """What the sliders of the page do."""
        return handle_data(self.model, self.scene.extent)


def stage_of(
    robot: Robot | Model,
    source: Any = None,
    folder: Any = None,
    q: Any = None,
    drawn: Scene | None = None,
) -> Stage:
    """The stage of a robot at the first of positions q, (k, nq), with room for all of them.

    q: None is the position of rest. drawn: the robot's scene, where it is known already.
    """
    robot = Robot(robot) if isinstance(robot, Model) else robot
    drawn = scene(robot, source, folder) if drawn is None else drawn
    q = rest_position(robot.model)[None] if q is None else q
    parts = parts_of(drawn.shapes)
    return Stage(robot, drawn, parts, camera(robot.model, parts, q, drawn.shown), q[0])


def picture_frame(stage: Stage) -> str:
    """The canvas, and the still picture that stands in for it."""
    still = Parts(coarser(stage.parts.meshes, PICTURE_TRIANGLES), stage.parts.parts)
    name = escape(stage.model.name)
    svg = picture(still, link_poses(stage.model, stage.q), stage.camera, stage.scene.shown, name)
    return (
        f'<div class="picture"><canvas id="view" tabindex="0" aria-label="{name}, drag to turn">'
        f"</canvas>{svg}</div>"
    )


def switches(stage: Stage) -> str:
    """Boxes to tick for the groups that the scene has, and the button home."""
    groups = {shape.group for shape in stage.scene.shapes}
    boxes = [
        f'<label><input type="checkbox" data-group="{group}"> {words}</label>'
        for group, words in SWITCHES.items()
        if group in groups
    ]
    boxes.append('<button type="button" id="home">home</button>')
    return f'<div class="switches">{"".join(boxes)}</div>'


def tool_line(stage: Stage) -> str:
    """Where the tool is, filled in by the script."""
    return (
        f'<p class="soft">Tool <b>{escape(stage.model.tool)}</b> at <span id="tool"></span> m</p>'
    )


def sliders(stage: Stage) -> str:
    """A slider a degree of freedom, with the force that holds the joint against gravity."""
    rows = []
    for handle, data in zip(
        handles(stage.model, stage.scene.extent), stage.handle_data(), strict=True
    ):
        k, label = len(rows), escape(handle.label)
        bar = '<span class="bar"><i></i></span>' if data["effort"] else "<span></span>"
        force = "" if data["dof"] is None else f'{bar}<span class="force"></span>'
        rows.append(
            f'<div class="handle"><label for="h{k}" title="{label}">{label}</label>'
            f'<output for="h{k}"></output><input id="h{k}" type="range" min="{handle.low!r}" '
            f'max="{handle.high!r}" step="any" value="{handle.start!r}">{force}</div>'
        )
    return f'<div class="handles">{"".join(rows)}</div>'
