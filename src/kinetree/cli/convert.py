"""`kinetree convert`: a robot in another file format, read back and compared."""

import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from math import isclose
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from cyclopts import Parameter

from kinetree.cli.arguments import AS_IT_IS, Json, Reading, RobotName
from kinetree.cli.choices import find_robot
from kinetree.cli.messages import wrapped
from kinetree.cli.output import check_output, print_json, waiting
from kinetree.core.arrays import Array
from kinetree.core.text import counted, listing, number
from kinetree.errors import InputError, KinetreeWarning, MissingPackageError, ModelError
from kinetree.model import WORLD, Model, joint_pose

if TYPE_CHECKING:
    from kinetree.robot import Robot

POSITIONS = 3  # random ones, at which a robot is compared with the one that is read back
ROUNDING = 1e-9  # relative difference of poses and inertias that rotations in a file explain
DROPPED = re.compile("<!-- not supported by [A-Z]+: (.*) -->")
FORMATS = {".urdf": "URDF", ".xml": "MJCF", ".mjcf": "MJCF"}
OTHER_DATA = ("limits", "friction", "armature")  # of a joint, besides poses and inertias


def convert(
    robot: RobotName,
    /,
    *,
    output: Annotated[
        Path,
        Parameter(
            name=["--output", "-o"], metavar="FILE",
            help="File to write: .urdf, or .xml or .mjcf (MJCF).",
        ),
    ],
    json: Json = False,
    reading: Reading = AS_IT_IS,
) -> None:  # fmt: skip
    """Write a robot as URDF or MJCF, and report everything that is lost.

    The text is read back and compared before the file is written: poses and inertias of all links
    at three positions, and limits, friction and armature. Shapes and meshes are not part of the
    model and are never written. Data that the format cannot represent are comments in the file.

    For example:

    ```
    kinetree convert panda -o panda.urdf
    kinetree convert hand -o hand.xml
    kinetree convert quadruped -o quadruped.xml --json
    ```

    JSON has robot, file, format, dropped (a list of sentences), joints (how many were compared)
    and difference (the largest one of poses and inertias, relative).
    """
    check_output(output, robot)
    ending = output.suffix.lower()
    if ending not in FORMATS:
        raise InputError(f"-o is {output}; expected a name that ends with {', '.join(FORMATS)}.")
    loaded = find_robot(robot, reading)
    with waiting(f"writing {output.name}"):
        text, again, dropped = written(loaded, ending)
        error = compared(loaded.model, again, dropped)
    output.write_text(text, encoding="utf-8", newline="\n")
    dropped += list(_shapes(loaded))
    if json:
        about = {"robot": loaded.name, "file": str(output), "format": FORMATS[ending]}
        found = {"dropped": dropped, "joints": len(loaded.model.joints), "difference": error}
        print_json(about | found)
        return
    from kinetree.cli.tables import console

    screen = console()
    screen.print(
        f"{output}: {loaded.name} as {FORMATS[ending]}; read back, "
        f"{counted(len(loaded.model.joints), 'joint')} agree to {number(error, 2)}",
        soft_wrap=True,
    )
    if dropped:
        screen.print("not written:", style="bold")
    for loss in dropped:
        screen.print(wrapped(f"- {loss}", screen.width, "  "), soft_wrap=True)


def written(robot: "Robot", ending: str) -> tuple[str, Model, list[str]]:
    """The text of a robot, the model that is read back from it, and what is lost."""
    text = _text(robot.model, ending)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KinetreeWarning)  # of losses, which are listed
        return text, _read_back(text, ending), DROPPED.findall(text)


def _read_back(text: str, ending: str) -> Model:
    from kinetree.files.loading import load_string

    try:
        return load_string(text).model
    except MissingPackageError as error:
        raise MissingPackageError(
            f"convert reads the {FORMATS[ending]} text back, to compare it with the robot, before "
            f"it writes the file: {error}"
        ) from error


def _text(model: Model, ending: str) -> str:
    from kinetree.files.write import to_mjcf, to_urdf

    writers = {"URDF": to_urdf, "MJCF": to_mjcf}
    return writers[FORMATS[ending]](model, losses="allow")


def compared(model: Model, again: Model, dropped: Sequence[str]) -> float:
    """The largest relative difference of masses, centres and inertias in {s}, joint by joint.

    dropped: losses; limits, friction and armature of a joint that one of them names may differ.

    Raises:
        ModelError: the robots differ.
    """
    from kinetree.dynamics import random

    places = {joint.name: i for i, joint in enumerate(again.joints)}
    names = [joint.name for joint in model.joints]
    if missing := [x for x in names if x not in places]:
        raise ModelError(f"the text that is read back lacks the joints {listing(missing, 6)}.")
    order = [places[name] for name in names]
    rng, worst = np.random.default_rng(0), 0.0
    for _ in range(POSITIONS):
        q = random(model, rng)
        mine = _bodies(model, q, range(len(order)))
        theirs = _bodies(again, _position(model, again, q), order)
        for a, b in zip(mine, theirs, strict=True):
            worst = max(
                worst, float(np.abs(a - b).max(initial=0)) / (np.abs(a).max(initial=0) or 1)
            )
    if not worst < ROUNDING:
        raise ModelError(f"poses or inertias that are read back differ by {worst:.2g}, relative.")
    for i, joint in zip(order, model.joints, strict=True):
        for name in OTHER_DATA:
            same = _close(getattr(joint, name), getattr(again.joints[i], name))
            if not same and not any(repr(joint.name) in loss for loss in dropped):
                raise ModelError(f"{name} of joint {joint.name!r} is read back differently.")
    return worst


def _bodies(model: Model, q: Array, order: Iterable[int]) -> tuple[Array, Array, Array]:
    """Masses, centres of mass and inertias about them, in {s}, of the links in that order."""
    T: dict[int, Array] = {WORLD: np.eye(4)}
    for i, joint in enumerate(model.joints):
        T[i] = T[model.parent[i]] @ model.M_pi[i] @ joint_pose(joint, q[list(joint.coords)])
    R, links = np.array([T[i][:3, :3] for i in order]).reshape(-1, 3, 3), list(order)
    m, I = np.asarray(model.m, float)[links], np.asarray(model.I_com, float)[links]
    places = [T[i] @ [*model.com[i], 1] if model.m[i] else np.zeros(4) for i in links]
    return m, np.array(places), R @ I @ R.transpose(0, 2, 1)


def _position(model: Model, again: Model, q: Array) -> Array:
    """The same position in the order of the robot that is read back.

    A joint that follows another here may have a coordinate of its own there, as in MJCF.
    """
    from kinetree.dynamics import neutral

    position = np.asarray(neutral(again), float)
    for joint in model.joints:
        other = again.joint(joint.name)
        if other.follows is None:
            mine = q[list(joint.coords)]
            follower = joint.follows is not None
            position[list(other.coords)] = joint.scale * mine + joint.offset if follower else mine
    return position


def _close(a: Any, b: Any) -> bool:
    """Return True if the numbers of two records agree up to rounding."""
    if is_dataclass(a):
        return all(_close(getattr(a, x.name), getattr(b, x.name)) for x in fields(a))
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(_close, a, b))
    return a == b or (isinstance(a, float) and isinstance(b, float) and isclose(a, b))


def _shapes(robot: "Robot") -> Iterator[str]:
    """A sentence on the shapes of the file, which are not part of the model."""
    from kinetree.views.visuals import visual_source

    source = visual_source(robot)
    if source is not None and (count := sum(1 for _ in source.visuals())):
        yield f"{counted(count, 'shape')} and meshes for drawing and collisions, with their colours"
