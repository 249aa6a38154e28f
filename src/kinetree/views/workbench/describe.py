"""The description of an open robot, as the page reads it: drawing, joints, limits and presets."""

from collections.abc import Iterable

import numpy as np

from kinetree.core.arrays import Array
from kinetree.files.description.joints import PRISMATIC, SCREW_TYPES
from kinetree.files.description.meshes import MISSING
from kinetree.files.description.records import Note
from kinetree.files.report import masses
from kinetree.model import Model
from kinetree.model.bounds import bounds_of
from kinetree.model.units import units
from kinetree.views.bodies import link_poses
from kinetree.views.camera import upward
from kinetree.views.page.stage import handle_data
from kinetree.views.rest import handles
from kinetree.views.workbench.presets import default_preset, presets
from kinetree.views.workbench.shelf import BUILT_IN, Opened

PARALLEL = 1e-6  # 1 - |cos| of axes that count as parallel, and |cos| of those at right angles
MAX_REMARKS = 40


def description(opened: Opened) -> dict[str, object]:
    """Everything that the page needs to show a robot."""
    robot, stage = opened.robot, opened.stage
    model = robot.model
    plane = plane_normal(model, stage.q)
    return {
        "id": opened.id,
        "opened": {"name": opened.id} if opened.id in BUILT_IN else {"id": opened.id},
        "name": robot.name,
        "source": opened.source,
        "n": model.n,
        "nq": model.nq,
        "mass": dict(zip(("total", "moving"), masses(model), strict=True)),
        "gravity": np.asarray(model.gravity, float)[3:],
        "tool": model.tool,
        "frame": model.tool or model.tips[0],
        "frames": list(model.frames),
        "links": list(model.link_names),
        "dofs": dof_data(model),
        "stage": stage.data(),
        "handles": handle_records(opened),
        "rest": stage.q,
        "constraints": model.constraints is not None,
        "stands": model.contacts is not None,
        "plane": plane,
        "up": up_direction(model, plane),
        "notes": [note_data(note) for note in model.notes],
        "warnings": warnings_of(opened),
        "presets": [vars(preset) for preset in presets(robot)],
        "default_preset": default_preset(robot),
    }


def dof_data(model: Model) -> list[dict[str, object]]:
    """Name, units and limits of every degree of freedom; an infinite limit is none."""
    bounds, units_of_tau = bounds_of(model), units(model, "tau")
    return [
        {
            "name": name,
            "unit": "m" if bounds.sliding[d] else "rad",
            "torque_unit": units_of_tau[d],
            "velocity": float(bounds.velocity[d]),
            "effort": float(bounds.effort[d]),
            "lower": float(bounds.lower[d]),
            "upper": float(bounds.upper[d]),
        }
        for d, name in enumerate(model.dof_names)
    ]


def handle_records(opened: Opened) -> list[dict[str, object]]:
    """The sliders, with their labels and ranges."""
    stage = opened.stage
    listed = handles(stage.model, max(stage.scene.extent, 0.1), stage.q)
    return [
        {"label": handle.label, "low": handle.low, "high": handle.high, **data}
        for handle, data in zip(listed, handle_data(stage), strict=True)
    ]


def note_data(note: Note) -> dict[str, object]:
    """A note of the reader with its place in the file."""
    return {"text": note.text, "where": note.where}


def warnings_of(opened: Opened) -> list[dict[str, object]]:
    """Warnings of the reader, and one entry for the visuals that could not be drawn."""
    remarks: list[dict[str, object]] = [note_data(note) for note in opened.robot.model.warnings]
    for remark in grouped(opened.stage.scene.remarks):
        remarks.append({"text": remark, "where": ""})
    return remarks[:MAX_REMARKS]


def grouped(remarks: Iterable[str]) -> list[str]:
    """Remarks on visuals, with those on missing meshes as a single one that names the remedy."""
    listed = list(remarks)
    missing = [note for note in listed if note.startswith("mesh ") and MISSING in note]
    if len(missing) < 2:
        return listed
    first = missing[0].removeprefix("mesh ").partition(f" {MISSING}")[0]
    return [
        *(note for note in listed if note not in missing),
        f"{len(missing)} meshes do not exist, or are outside the chosen folder; the first is "
        f"{first}. Simple bodies replace them. Open the robot together with its meshes, or start "
        "the workbench with: kinetree view FILE --folder FOLDER",
    ]


def plane_normal(model: Model, q: Array) -> Array | None:
    """Normal in {s} of the plane that all joints move in; None for a robot that leaves a plane.

    All hinges of a planar robot are parallel, and its slides are at right angles to them.
    """
    if not len(model.links) or any(joint.type not in SCREW_TYPES for joint in model.joints):
        return None
    poses = link_poses(model, q)
    hinges: list[Array] = []
    slides: list[Array] = []
    for i in model.links:
        screw = np.asarray(model.joints[i].screw, float)
        if model.joints[i].type == PRISMATIC:
            slides.append(poses[i][:3, :3] @ screw[3:])
        elif abs(screw[:3] @ screw[3:]) > PARALLEL:  # a helical joint moves along its own axis
            return None
        else:
            hinges.append(poses[i][:3, :3] @ screw[:3])
    if not hinges:
        return None
    n = hinges[0] / np.linalg.norm(hinges[0])
    flat = all(abs(abs(a @ n) - 1) < PARALLEL for a in hinges)
    flat = flat and all(abs(a @ n) < PARALLEL for a in slides)
    if not flat:
        return None
    n = n * np.sign(n[int(np.argmax(np.abs(n)))])  # hinges may point either way
    return np.where(np.abs(n) < PARALLEL, 0.0, n)


def up_direction(model: Model, plane: Array | None) -> Array:
    """Direction that is drawn upward: against gravity.

    For a planar robot whose plane is level, or that has no gravity, it is the normal of the plane.
    """
    g = np.asarray(model.gravity, float)[3:]
    size = float(np.linalg.norm(g))
    if plane is not None and (size == 0 or abs(g @ plane) > (1 - PARALLEL) * size):
        return plane
    return upward(model) + 0.0  # without negative zeros
