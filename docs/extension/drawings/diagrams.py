"""Diagrams of boxes and arrows: ways of data through kinetree, loops of control, studies."""

import re
from itertools import pairwise
from pathlib import Path

from extension.drawings import drawing
from extension.flow import Box, Flow, plain


def row(
    flow: Flow, y: float, words: list[str], gap: float = 34.0, kinds: str = "", arrows: bool = True
) -> list[Box]:
    """Boxes in a row with equal gaps; arrows: from each to the next."""
    from extension.sketch import text_width

    widths = [max(1.1 * text_width(plain(x)) for x in w.split("\n")) + 26 for w in words]
    x, boxes = 0.0, []
    for k, (word, width) in enumerate(zip(words, widths, strict=True)):
        kind = {"m": "main", "h": "hot"}.get(kinds[k : k + 1], "fill")
        boxes.append(flow.box(x + width / 2, y, word, kind=kind, width=width))
        x += width + gap
    for a, b in pairwise(boxes if arrows else []):
        flow.arrow(a, b)
    return boxes


@drawing
def rooms() -> str:
    """The picture of tools/draw_architecture.py, in the colours of the page."""
    picture = Path(__file__).parents[2] / "pictures" / "architecture.svg"
    text = re.sub(r"<style>.*?</style>", "", picture.read_text(encoding="utf-8"), flags=re.DOTALL)
    text = text.replace("<rect ", '<rect class="k-fill" ').replace('class="edge"', 'class="k-soft"')
    text = text.replace('class="tip"', 'class="k-soft full"')
    return text.replace("<svg ", '<svg class="sketch" role="img" aria-label="rooms" ', 1)


@drawing
def ways_to_a_model() -> str:
    """Files, tables and calls become one Model, which all algorithms read."""
    flow = Flow()
    sources = [
        "URDF, xacro, SDF, MJCF\nkt.load", "a built-in name\nkt.load(\"panda\")",
        "screws, home poses, inertias\nRobot.from_screws", "Denavit-Hartenberg\nRobot.from_dh",
        "points and axes\nRobot.from_points", "link by link\nkt.Builder",
    ]  # fmt: skip
    model = flow.box(330, 145, "Model\nfrozen, checked", kind="main")
    for k, words in enumerate(sources):
        flow.arrow(flow.box(76, 58 * k, words, width=258), model, kind="soft")
    goals = [
        "algorithms\nfloats, symbols, fifty digits",
        "kernels\nmachine code",
        "pages and files\nreport, URDF, MJCF",
    ]
    for k, words in enumerate(goals):
        flow.arrow(model, flow.box(560, 45 + 100 * k, words, width=230), kind="soft")
    return flow.svg(
        "every way to build a robot makes a Model, which algorithms, kernels and pages read"
    )


@drawing
def quantities() -> str:
    """Which arguments each group of quantities needs."""
    flow = Flow()
    q = flow.box(0, 0, "$q$", kind="main", width=110)
    dq = flow.box(0, 110, "$q, dq$", kind="main", width=110)
    ddq = flow.box(0, 220, "$q, dq, ddq$", kind="main", width=110)
    tau = flow.box(0, 330, "$q, dq, tau$", kind="main", width=110)
    flow.arrow(
        q,
        flow.box(290, 0, "positions\npose, $J_b, J_s, M, g, U$, centre of mass", width=370),
        kind="soft",
    )
    flow.arrow(
        dq,
        flow.box(290, 110, "motion\n$C, c, h, K$, momentum, rates of $J$ and $M$", width=370),
        kind="soft",
    )
    flow.arrow(
        ddq,
        flow.box(290, 220, "inverse dynamics\n$tau$, its causes, the regressor", width=370),
        kind="soft",
    )
    flow.arrow(
        tau,
        flow.box(290, 330, "forward dynamics\n$ddq$, then the motion by simulation", width=370),
        kind="soft",
    )
    return flow.svg("arguments of the quantities")


@drawing
def stages() -> str:
    """From a robot's file to machine code."""
    flow = Flow()
    a = row(flow, 0, ["file", "records", "Model", "Tree"], kinds="m")
    b = row(
        flow,
        92,
        ["algorithm\non traced scalars", "graph\nof operations", "passes\nfewer, fused, ordered"],
    )
    c = row(
        flow,
        192,
        ["LLVM\nvectors of states", "CUDA\na thread per state", "C, MATLAB, ...\nexported"],
        gap=26,
        arrows=False,
    )
    flow.down = True
    flow.arrow(a[3], b[0], kind="soft")
    for box in c:
        flow.arrow(b[2], box, kind="soft")
    d = flow.box(c[0].x, 288, "kernel\nrobot.inverse_dynamics", kind="hot")
    flow.arrow(c[0], d)
    return flow.svg("from a file to a kernel: records, model, tree, graph, machine code")


@drawing
def routes() -> str:
    """From a call of a kernel to the code that runs."""
    flow = Flow()
    calls = ["one float64 state", "arrays, lists,\ndata frames", "tensors of\ntorch, JAX, CuPy"]
    entries = ["vectorcall\ncall/fast_entry.py", "gufunc, threads\ncall/gufunc.py", "tensors/"]
    codes = ["code of one state\nllvm/one.py", "blocks of states\nllvm/block.py"]
    codes.append("a thread per state\ncuda/emit.py")
    a, b, c = (
        row(flow, 96 * k, texts, gap=26, arrows=False)
        for k, texts in enumerate((calls, entries, codes))
    )
    flow.down = True
    for top, middle, bottom in zip(a, b, c, strict=True):
        flow.arrow(top, middle)
        flow.arrow(middle, bottom)
    flow.arrow(b[2], c[1], kind="soft")
    return flow.svg("three ways from a call to machine code")


@drawing
def lanes(count: int = 8) -> str:
    """States of a batch in the lanes of vector registers, one operation at a time."""
    flow, size = Flow(), 26.0
    for i in range(count):
        for j in range(7):
            flow.cell(j * size, i * size, size - 3, size - 3, "on" if i == 0 else "off")
    flow.words(3.5 * size, -16, "$q$, shape (N, 7)")
    flow.words(-14, 0.4 * size, "state 1", anchor="end")
    flow.words(-14, (count - 0.6) * size, f"state {count}", anchor="end")
    left = 7 * size + 150
    for k, name in enumerate(("$q_1$", "$q_2$", "sin $q_1$", "$tau_1$")):
        for i in range(count):
            kind = "on" if i == 0 else "off"
            flow.cell(left + i * size, k * 2 * size + 10, size - 3, size - 3, kind)
        flow.words(left - 14, k * 2 * size + 10 + 0.45 * size, name, "", "end")
    flow.path([(7 * size + 16, count * size / 2), (left - 78, count * size / 2)])
    flow.words(left + count * size / 2, -16, f"registers of {count} lanes: one lane per state")
    return flow.svg("eight states go through the kernel at once, one in each lane of the registers")


@drawing
def control_loop() -> str:
    """Reference, control law, drive, robot, and the measured state that returns."""
    steps = "reference\n$q, dq, ddq$", "control law\nkt.controllers", "drive\nlimits, lag"
    return returning(
        [*steps, "robot\n$M ddq + h = tau$", "state\n$q, dq$"],
        "measured at every step",
        "the loop of a controller: reference, law, drive, robot, state",
    )


@drawing
def plan() -> str:
    """One iteration of a plan: linearise, backward, forward, again."""
    steps = "plan\n$x, u$", "all steps\n$A, B, H$", "backward\n$K, k$", "forward\nlengths of k"
    return returning(
        [*steps, "better plan\n$x, u$"],
        "until no decrease is expected",
        "an iteration of iLQR: linearise, backward, forward, again",
    )


def returning(steps: list[str], words: str, title: str) -> str:
    """Steps in a row, with a way back from the last to the second."""
    flow = Flow()
    boxes = row(flow, 0, steps, gap=52, kinds=" m h")
    a, b = boxes[-1], boxes[1]
    y = a.y + 62
    flow.path([(a.x, a.y + a.height / 2), (a.x, y), (b.x, y), (b.x, b.y + b.height / 2)])
    flow.words((a.x + b.x) / 2, y + 16, words)
    return flow.svg(title)


@drawing
def recording_to_robot() -> str:
    """From a recording to an identified robot with intervals."""
    flow = Flow()
    a = row(
        flow,
        0,
        [
            "plan\nexcite",
            "recording\n$t, q, tau$",
            "filtered\n$q, dq, ddq$",
            "regressor\n$tau = Y beta$",
        ],
        gap=44,
    )
    b = row(
        flow,
        108,
        ["robot\nmasses, friction", "intervals\n95 %", "held-out error\ncompared with noise"],
        gap=44,
        kinds="m",
        arrows=False,
    )
    flow.down = True
    for box in b:
        flow.arrow(a[3], box, kind="soft")
    return flow.svg("from a recording to an identified robot")


@drawing
def gradients() -> str:
    """Forward and backward kernels around a call with tensors."""
    flow = Flow()
    boxes = row(
        flow,
        0,
        ["arguments\n$q, dq, ddq$", "kernel\ninverse_dynamics", "result\n$tau$", "loss"],
        gap=56,
        kinds=" m",
    )
    back = flow.box(boxes[1].x, 104, "kernel\ncotangent × Jacobian", kind="hot")
    first, last = boxes[0], boxes[3]
    flow.path(
        [(last.x, last.y + last.height / 2), (last.x, 104), (back.x + back.width / 2, 104)],
        kind="warm",
    )
    flow.path(
        [(back.x - back.width / 2, 104), (first.x, 104), (first.x, first.y + first.height / 2)],
        kind="warm",
    )
    flow.words((last.x + back.x + back.width / 2) / 2, 120, "gradient of the loss", "k-warm")
    flow.words((first.x + back.x - back.width / 2) / 2, 120, "gradients", "k-warm")
    return flow.svg("a backward step is a compiled kernel too")


@drawing
def study() -> str:
    """Distributions, samples by number, chunks on workers, rows in a file."""
    flow = Flow()
    a = flow.box(70, 90, "distributions\nNormal, Spread, Noise", kind="main")
    b = flow.box(290, 90, "sample $k$\nof the seed and $k$ alone")
    flow.arrow(a, b)
    out = flow.box(690, 90, "rows, in order\n.parquet, .npy, .csv", kind="hot")
    for k, name in enumerate(("thread", "process", "Ray or Dask worker")):
        c = flow.box(490, 90 * k, name, width=170)
        flow.arrow(b, c, kind="soft")
        flow.arrow(c, out, kind="soft")
    return flow.svg(
        "a study: samples are drawn by number, workers compute chunks, rows are written in order"
    )


@drawing
def warp() -> str:
    """Rows of neighbouring states in shared memory, one thread for each."""
    flow, size = Flow(), 20.0
    for i in range(8):
        for j in range(7):
            flow.cell(j * size, i * size, size - 2, size - 2, "on")
            flow.cell(270 + j * size, i * size, size - 2, size - 2, "two")
        flow.path(
            [(270 + 7 * size + 12, (i + 0.45) * size), (270 + 7 * size + 70, (i + 0.45) * size)],
            kind="soft",
        )
        flow.words(
            270 + 7 * size + 82,
            (i + 0.45) * size,
            f"thread {i}" if i < 7 else "thread 31",
            anchor="start",
        )
    flow.words(3.5 * size, -16, "global memory, (N, 7)")
    flow.words(270 + 3.5 * size, -16, "shared memory")
    flow.path([(7 * size + 12, 4 * size), (258, 4 * size)])
    flow.words(205, 4 * size - 20, "one block")
    return flow.svg("a warp copies 32 rows to shared memory; each thread computes one state")


@drawing
def page_parts() -> str:
    """Parts of a report page, all in one file."""
    flow = Flow()
    a = row(flow, 0, ["robot\nkt.load", "report_page"], gap=60, kinds=" m")
    for k, words in enumerate(
        (
            "scene with sliders",
            "findings about the file",
            "tables of joints and links",
            "torques against limits",
            "equations",
        )
    ):
        flow.arrow(a[1], flow.box(430, -90 + 45 * k, words, width=220), kind="soft")
    return flow.svg("parts of a report page")


@drawing
def conformance() -> str:
    """Groups of the conformance suite, and the references of their checks."""
    flow = Flow()
    references = {
        "exact arithmetic\nhashes of the release": ("machine",),
        "laws, direct form\nof the algorithms": ("kernels",),
        "stored bits\nthe same on all machines": ("bits", "commands"),
        "a call with one state": ("calls",),
        "a result without a cache": ("cache",),
    }
    verdict = flow.box(560, 160, "verdict\none screen, exit code", kind="hot")
    y = 0.0
    for words, groups in references.items():
        source = flow.box(0, y + 23 * (len(groups) - 1), words, kind="main", width=210)
        for k, name in enumerate(groups):
            group = flow.box(290, y + 46 * k, name, width=110)
            flow.arrow(source, group, kind="soft")
            flow.arrow(group, verdict, kind="soft")
        y += 46 * len(groups) + 14
    return flow.svg("references of the conformance suite, its groups and the verdict")


@drawing
def platforms() -> str:
    """The wheel, the cells of the matrix, and the record."""
    flow = Flow()
    wheel = flow.box(0, 115, "wheel\nbuilt once", kind="main", width=120)
    record = flow.box(560, 115, "record\none hash of all bits", kind="hot")
    cells = ("Python 3.11 to 3.15", "oldest dependencies", "no llvmlite", "aarch64, emulated")
    for k, words in enumerate((*cells, "reports of other machines")):
        cell = flow.box(280, 58 * k, words, width=210)
        if k < len(cells):
            flow.arrow(wheel, cell, kind="soft")
        flow.arrow(cell, record, kind="soft")
    return flow.svg("the wheel runs in every cell, and the record compares their bits")
