"""The choice of a robot, built-in or from a file, and the tab Robot with its facts and groups."""

from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING

from kinetree import robots
from kinetree.base.tables import html_table, steady_number
from kinetree.robot import Robot
from kinetree.views.loops import freedom_words, ties
from kinetree.views.meshes import MISSING
from kinetree.views.shapes import GROUPS, Scene
from kinetree.views.workbench.bench import Bench, Event, change, in_turn, user_action
from kinetree.views.workbench.files import read_robot_file
from kinetree.views.workbench.markup import reading

if TYPE_CHECKING:
    from viser import SceneNodeHandle

BUILT_IN = (*robots.TREES, *robots.MECHANISMS)
CHOOSE = "built-in ..."
BLUE = (46, 110, 170)
MOST_NOTES = 6
LONGEST_NAME = 28  # characters that fit beside the name of the program
LABELS = {
    "body": "links",
    "joint": "joints",
    "loop": "constraints",
    "visual": "visuals",
    "inertia": "inertias",
    "frame": "frames",
}
Open = Callable[[Robot, Scene | None, list[str]], None]


def add_robot_choice(bench: Bench, open_robot: Open) -> None:
    """Add the choice of a robot and the settings of the page above all tabs, once for all robots.

    open_robot: called with another robot, its scene and its notes.
    """
    gui = bench.server.gui
    choice = gui.add_dropdown("Robot", (CHOOSE, *BUILT_IN), initial_value=CHOOSE)
    upload = gui.add_upload_button("Open a robot (URDF or MJCF)", mime_type=".urdf,.xml,.mjcf")
    degrees = gui.add_checkbox("degrees", bench.state.degrees)
    dark = gui.add_checkbox("dark", False)

    def choose(name: str) -> None:
        if name in BUILT_IN:
            open_robot(getattr(robots, name)(), None, [])

    def open_file(event: Event) -> None:
        file = event.target.value
        open_robot(*read_robot_file(file.name, file.content, bench.folder))
        choice.value = CHOOSE

    def turn(wanted: bool) -> None:
        with bench.opening:  # no other robot is opened in between
            change(bench, degrees=wanted)
            open_robot(bench.state.robot, bench.scene, bench.notes)

    in_turn(choice.on_update, choose)
    upload.on_upload(user_action(open_file))
    in_turn(degrees.on_update, turn)
    in_turn(dark.on_update, lambda wanted: set_theme(bench, dark=wanted))


def set_theme(bench: Bench, *, dark: bool) -> None:
    """Set the colours of the page."""
    bench.server.gui.configure_theme(
        dark_mode=dark, show_logo=False, show_share_button=False, brand_color=BLUE
    )


def add_robot_facts(bench: Bench, nodes: "dict[str, list[SceneNodeHandle]]") -> None:
    """Add the facts of the robot and a switch per group of shapes, and show its name on top."""
    bench.server.gui.set_panel_label(f"kinetree · {shortened(bench.state.robot.name)}")
    bench.server.gui.add_html(robot_reading(bench.state.robot, bench.notes))
    for group in GROUPS:
        if group in nodes:
            add_switch(bench, LABELS[group], nodes[group])


def shortened(name: str) -> str:
    """A name on one line, cut to LONGEST_NAME; the viewer shows it as plain text."""
    name = " ".join(name.split())
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"


def add_switch(bench: Bench, label: str, nodes: "list[SceneNodeHandle]") -> None:
    """Add a checkbox that shows or hides nodes."""
    box = bench.server.gui.add_checkbox(label, bool(nodes[0].visible))

    def switch(wanted: bool) -> None:
        for node in nodes:
            node.visible = wanted

    in_turn(box.on_update, switch)


def grouped(notes: list[str]) -> list[str]:
    """The remarks, with those on missing meshes as a single one that names the remedy."""
    missing = [note for note in notes if note.startswith("mesh ") and MISSING in note]
    if len(missing) < 2:
        return notes
    first = missing[0].removeprefix("mesh ").partition(f" {MISSING}")[0]
    return [
        *(note for note in notes if note not in missing),
        f"{len(missing)} meshes do not exist, or are outside the chosen folder; the first is "
        f"{first}. Simple bodies replace them. Choose the folder of the meshes with: kinetree "
        "view FILE --folder FOLDER",
    ]


def robot_reading(robot: Robot, notes: list[str]) -> str:
    """Name, size and mass of the robot, and the remarks of its reader."""
    model = robot.model
    tied = None if model.constraints is None else robot.mobility
    rows = [
        ["joints", str(len(model.joints))],
        ["degrees of freedom", str(model.n if tied is None else tied.degrees_of_freedom)],
        ["mass, kg", steady_number(sum(float(m) for m in model.m))],
        ["tool", model.tool],
    ]
    notes = grouped(notes)
    remarks = "".join(f"<p>⚠ {escape(note[:400])}</p>" for note in notes[:MOST_NOTES])
    if len(notes) > MOST_NOTES:
        remarks += f"<p>and {len(notes) - MOST_NOTES} more</p>"
    facts = html_table(("", ""), rows, css="kt-table")
    if tied is not None:
        facts += f"<h4>Constraints</h4><p>{escape(freedom_words(robot))}</p>" + html_table(
            ("constraint", "kind", "ties"),
            [[x.name, x.kind, x.what] for x in ties(model)],
            css="kt-table kt-wide",
        )
    return reading(f"<h4>{escape(robot.name)}</h4>{facts}{remarks}")
