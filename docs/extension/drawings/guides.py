"""Diagrams of the guides: names that are aligned, files that are read, code that is written."""

import itertools

import numpy as np

import kinetree as kt
from extension.drawings import drawing
from extension.flow import Flow
from extension.sketch import Sketch, plane


@drawing
def names_aligned() -> str:
    """Values by name in another order, aligned to the order of the robot."""
    flow = Flow()
    given = [("elbow", "1.2"), ("shoulder_lift", "-1.0"), ("shoulder_pan", "0.3")]
    order = ["shoulder_pan", "shoulder_lift", "elbow"]
    boxes = {
        name: flow.box(80, 62 * k, f"{name}\n{value}", width=150)
        for k, (name, value) in enumerate(given)
    }
    for k, name in enumerate(order):
        target = flow.box(430, 62 * k, f"{name}\nentry {k} of q", kind="main", width=150)
        flow.arrow(boxes[name], target)
    flow.words(80, -44, "your data, in any order")
    flow.words(430, -44, "robot.joint_names")
    return flow.svg("values are aligned by name with the joints of the robot")


@drawing
def one_reader() -> str:
    """Formats of recordings, one reader, and those who use it."""
    flow = Flow()
    middle = flow.box(330, 93, "one reader\ncolumns by name, units, order", kind="main")
    for k, words in enumerate(("CSV, TSV\n.gz too", "Parquet, NPZ", "ROS bags\nwithout ROS")):
        flow.arrow(flow.box(60, 93 * k, words, width=150), middle, kind="soft")
    for k, words in enumerate(("kt.motion.read", "kinetree.identify", "the workbench", "commands")):
        flow.arrow(middle, flow.box(600, 62 * k, words, width=170), kind="soft")
    return flow.svg("one reader for recordings of all formats")


@drawing
def export_targets() -> str:
    """The graph of a kernel and the languages that it is written in."""
    flow = Flow()
    robot = flow.box(40, 120, "robot and quantity", kind="main")
    graph = flow.box(250, 120, "graph\nthat of the kernel")
    flow.arrow(robot, graph)
    targets = [
        ("C", "firmware and controllers"),
        ("MATLAB, Octave", "models and tests"),
        ("CasADi", "optimisation"),
    ]
    for k, (name, words) in enumerate(targets):
        flow.arrow(graph, flow.box(510, 60 + 60 * k, f"{name}\n{words}", width=220), kind="soft")
    return flow.svg("one graph is written in several languages")


@drawing
def firmware_loop() -> str:
    """Files that are exported for a board, its self-test, and its loop."""
    flow = Flow()
    robot = flow.box(40, 75, "kinetree export\n--dtype float", kind="main", width=160)
    names = ("panda_id_test.c\nstates", "panda_id.h\nnames, units", "panda_id.c\nthe function")
    files = [flow.box(250, 75 * k, words, width=150) for k, words in enumerate(names)]
    start = flow.box(460, 0, "at the start\nself-test", kind="hot", width=140)
    loop = flow.box(460, 150, "1,000 times a second\ntau from q, dq, ddq", kind="main", width=215)
    for file in files:
        flow.arrow(robot, file, kind="soft")
    flow.arrow(files[2], loop, kind="soft")
    flow.arrow(files[0], start, kind="soft")
    motors = flow.box(680, 150, "motors\ntau", width=110)
    flow.arrow(loop, motors)
    flow.down = True
    flow.arrow(start, loop)
    return flow.svg("files for a board, its self-test and its control loop")


@drawing
def ros2_chain() -> str:
    """Controllers of ROS 2 between a plan and the motors, and the code that is exported for one."""
    flow = Flow()
    plan = flow.box(70, 0, "trajectory controller\nq, dq, ddq planned", width=200)
    law = flow.box(330, 0, "InverseDynamics\ntau from q, dq, ddq", kind="main", width=180)
    hardware = flow.box(570, 0, "hardware\nefforts in, q and dq out", width=190)
    flow.arrow(plan, law)
    flow.arrow(law, hardware)
    flow.down = True
    flow.arrow(law, flow.box(330, 100, "robot.cpp\nexported by kinetree", kind="hot", width=180))
    return flow.svg("a chain of controllers with exported dynamics in its middle")


@drawing
def xacro_stages() -> str:
    """A xacro file with arguments, included files and packages becomes a robot."""
    flow = Flow()
    reader = flow.box(320, 64, "interpreter\nproperties, macros, expressions", kind="main")
    for k, words in enumerate(("arm.xacro\nand its includes", "arguments\nlength=0.6")):
        flow.arrow(flow.box(60, 128 * k, words, width=150), reader, kind="soft")
    urdf = flow.box(540, 64, "URDF\nin memory")
    flow.arrow(reader, urdf)
    flow.arrow(urdf, flow.box(690, 64, "robot", kind="hot"))
    return flow.svg("a xacro file becomes a robot")


@drawing
def reading_stages() -> str:
    """The stages of reading a file, with the errors, warnings and notes of each."""
    flow = Flow()
    stages = [
        "file\nXML, strict numbers",
        "records\nlinks and joints",
        "model\ntree, masses",
        "robot",
    ]
    places = (70, 290, 500, 660)
    boxes = [
        flow.box(x, 0, words, kind="main" if k == 3 else "fill")
        for k, (x, words) in enumerate(zip(places, stages, strict=True))
    ]
    for a, b in itertools.pairwise(boxes):
        flow.arrow(a, b)
    found = [
        (places[0], "error\nfile, line, way out", "hot"),
        (places[1], "error or warning\nwith line", "hot"),
        (places[2], "error or warning\nmasses, moments", "hot"),
        (places[3], "robot.report\nall findings", "fill"),
    ]
    flow.down = True
    for box, (x, words, kind) in zip(boxes, found, strict=True):
        flow.arrow(box, flow.box(x, 104, words, kind=kind), kind="soft")
    return flow.svg("stages of reading a robot's file, and the findings of each")


@drawing
def identification_steps() -> str:
    """The stages of an identification and their results."""
    flow = Flow()
    stages = [
        ("recording", "t, q, tau"),
        ("rates", "low-pass"),
        ("regressor", "tau = Y x"),
        ("least squares", "base parameters"),
        ("robot", "physically possible"),
    ]
    kinds = ["main"] * 4 + ["hot"]
    boxes = [
        flow.box(70 + 165 * k, 0, f"{name}\n{words}", kind=kinds[k], width=138)
        for k, (name, words) in enumerate(stages)
    ]
    for a, b in itertools.pairwise(boxes):
        flow.arrow(a, b)
    flow.down = True
    for k, words in enumerate(
        ("notes", "spectrum, cutoff", "lag, one filter", "intervals", "verdict")
    ):
        flow.arrow(boxes[k], flow.box(70 + 165 * k, 84, words, width=138), kind="soft")
    return flow.svg("from a recording to a robot, with the results of each stage")


@drawing
def four_bar_loop(height: float = 250.0) -> str:
    """The four-bar as an open tree, with its error, and closed, with the force of the loop."""
    robot = kt.robots.four_bar()
    closed = kt.constraints.project(robot, [1.1, -1.0, 1.6], keep=["crank"])
    sketch = Sketch(plane("xy"))
    for shift, q in ((0.0, closed + np.array([0, 0.12, -0.25])), (1.05, closed)):
        move = np.array([shift, 0, 0])
        crank, coupler, rocker = (T[:3, 3] + move for T in robot.link_poses(q))
        pin, tip = (robot.pose(q, name)[:3, 3] + move for name in ("pin", "tip"))
        for a, b in ((crank, coupler), (coupler, pin), (rocker, tip)):
            sketch.link(a, b)
        for p in (crank, rocker):
            sketch.ground(p - np.array([0, 0.03, 0]), (1, 0, 0), 0.1, (-0.015, -0.025, 0))
        for p in (crank, coupler, rocker):
            sketch.ring(p)
        sketch.turn(crank, (0, 0, 1), 0.09, "good", "q_1", start=0, sweep=np.degrees(q[0]))
        if shift:
            sketch.ring(tip, "accent")
            for sign, words in ((1, "lambda"), (-1, "-lambda")):
                sketch.arrow(tip, tip + sign * np.array([0.16, 0.06, 0]), "warm", words)
        else:
            sketch.dot(pin, "accent", "pin")
            sketch.dot(tip, "accent", "tip")
            sketch.arrow(tip, pin, "warm", "Phi")
    return sketch.svg("four-bar, open and closed", height=height)
