"""Choosing a robot: a built-in one, or a file; and what of it is drawn."""

from collections.abc import Callable
from typing import Any

from kinetree import robots
from kinetree.robot import Robot
from kinetree.views.mesh_paths import MISSING
from kinetree.views.shapes import GROUPS, Scene
from kinetree.views.workbench.bench import Bench, by_hand, change, in_turn
from kinetree.views.workbench.files import read_robot_file
from kinetree.views.workbench.style import reading
from kinetree.views.workbench.text import escape, number, table

BUILT_IN = tuple(robots.__all__)
CHOOSE = "built-in ..."
BLUE = (46, 110, 170)
MOST_NOTES = 6
LONGEST_NAME = 28  # characters beside the name of the program
LABELS = {
    "body": "links",
    "joint": "joints",
    "visual": "visuals",
    "inertia": "inertias",
    "frame": "frames",
}
Open = Callable[[Robot, Scene | None, list[str]], None]


def add_robot_choice(bench: Bench, open_robot: Open) -> None:
    """Above all tabs, and there for good: `open_robot` puts another robot on the bench."""
    gui = bench.server.gui
    choice = gui.add_dropdown("Robot", (CHOOSE, *BUILT_IN), initial_value=CHOOSE)
    upload = gui.add_upload_button("Open a robot (URDF or MJCF)", mime_type=".urdf,.xml,.mjcf")
    degrees = gui.add_checkbox("degrees", bench.state.degrees)
    dark = gui.add_checkbox("dark", False)

    def choose(name: str) -> None:
        if name in BUILT_IN:
            open_robot(getattr(robots, name)(), None, [])

    def open_file(event: Any) -> None:
        file = event.target.value
        open_robot(*read_robot_file(file.name, file.content, bench.folder))
        choice.value = CHOOSE

    def turn(wanted: bool) -> None:
        with bench.opening:  # no other robot comes between
            change(bench, degrees=wanted)
            open_robot(bench.state.robot, bench.scene, bench.notes)

    in_turn(choice.on_update, choose)
    upload.on_upload(by_hand(open_file))
    in_turn(degrees.on_update, turn)
    in_turn(dark.on_update, lambda wanted: set_theme(bench, dark=wanted))


def set_theme(bench: Bench, *, dark: bool) -> None:
    """The look of the page."""
    bench.server.gui.configure_theme(
        dark_mode=dark, show_logo=False, show_share_button=False, brand_color=BLUE
    )


def add_robot_facts(bench: Bench, nodes: dict[str, list[Any]]) -> None:
    """The tab of the robot: what it is, and what of it is drawn; its name above all tabs."""
    bench.server.gui.set_panel_label(f"kinetree · {shortened(bench.state.robot.name)}")
    bench.server.gui.add_html(robot_reading(bench.state.robot, bench.notes))
    for group in GROUPS:
        if group in nodes:
            add_switch(bench, LABELS[group], nodes[group])


def shortened(name: str) -> str:
    """A name of a file on one line; the viewer shows it as text."""
    name = " ".join(name.split())
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"


def add_switch(bench: Bench, label: str, nodes: list[Any]) -> None:
    """A box that shows or hides some nodes."""
    box = bench.server.gui.add_checkbox(label, bool(nodes[0].visible))

    def switch(wanted: bool) -> None:
        for node in nodes:
            node.visible = wanted

    in_turn(box.on_update, switch)


def grouped(notes: list[str]) -> list[str]:
    """The remarks, those about meshes that are not there as one, with the way out."""
    missing = [note for note in notes if note.startswith("mesh ") and MISSING in note]
    if len(missing) < 2:
        return notes
    return [
        *(note for note in notes if note not in missing),
        f"{len(missing)} meshes are not there, or not inside the chosen folder, the first is "
        f"{missing[0].removeprefix('mesh ').partition(' is not')[0]}. Bodies are drawn in their "
        "place; kinetree view FILE --folder says where meshes lie.",
    ]


def robot_reading(robot: Robot, notes: list[str]) -> str:
    """Name, size and mass of the robot, and what its reader had to say."""
    model = robot.model
    rows = [
        ["joints", str(len(model.joints))],
        ["degrees of freedom", str(model.n)],
        ["mass, kg", number(sum(float(m) for m in model.m))],
        ["tool", escape(model.tool)],
    ]
    notes = grouped(notes)
    remarks = "".join(f"<p>⚠ {escape(note[:400])}</p>" for note in notes[:MOST_NOTES])
    if len(notes) > MOST_NOTES:
        remarks += f"<p>and {len(notes) - MOST_NOTES} more</p>"
    return reading(f"<h4>{escape(robot.name)}</h4>{table(['', ''], rows)}{remarks}")
