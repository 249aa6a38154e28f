"""A small robot as text, to be broken in one place at a time, and the given files."""

import csv
import json
from pathlib import Path
from typing import Any

from kinetree.files.description import RobotDescription
from kinetree.files.description.urdf import read_urdf_text

SHARED = Path(__file__).resolve().parents[6] / "shared"
NO_SHARED = "the folder ../shared with other people's robot files is absent"

INERTIA = '<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.03"/>'
ROBOT = f"""<?xml version="1.0"?>
<robot name="two">
  <link name="base"/>
  <link name="l1"><inertial>
    <origin xyz="0 0 0.1"/><mass value="1"/>{INERTIA}
  </inertial></link>
  <link name="l2"><inertial><mass value="2"/>{INERTIA}</inertial></link>
  <joint name="j1" type="revolute">
    <origin xyz="0 0 0.2" rpy="0 0 0"/><parent link="base"/><child link="l1"/>
    <axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="10" velocity="2"/>
  </joint>
  <joint name="j2" type="prismatic">
    <parent link="l1"/><child link="l2"/>
    <axis xyz="0 1 0"/><limit lower="0" upper="0.5" effort="5" velocity="3"/>
  </joint>
</robot>
"""


def changed(old: str, new: str) -> str:
    """The robot with one piece of its text replaced."""
    assert ROBOT.count(old) >= 1, f"{old!r} is not in the robot"
    return ROBOT.replace(old, new, 1)


def read_changed(old: str, new: str) -> RobotDescription:
    return read_urdf_text(changed(old, new), name="two.urdf")


def said(notes: Any) -> str:
    """All notes or warnings as one text."""
    return "\n".join(f"{note.where}: {note.text}" for note in notes)


def bad_files() -> list[dict[str, str]]:
    """Rows of the manifest of malformed URDF files; empty when the folder is absent."""
    manifest = SHARED / "bad_inputs" / "manifest.csv"
    if not manifest.exists():
        return []
    with manifest.open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if row["format"] == "urdf"]


def model_files() -> list[tuple[Path, dict[str, Any]]]:
    """Real URDF files with what is known about them; empty when the folder is absent."""
    found = []
    for meta_file in sorted((SHARED / "models" / "urdf").glob("*/meta.json")):
        meta = json.loads(meta_file.read_text(encoding="utf-8"))
        found.append((meta_file.parent / meta["file"], meta))
    return found
