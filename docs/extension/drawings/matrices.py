"""Drawings of matrices and graphs of real robots: sparsity, the closed form, a kernel's graph."""

import numpy as np

import kinetree as kt
from extension.drawings import drawing
from extension.drawings.robots import bodies, joints, robot_of, view_of
from extension.flow import Box, Flow
from extension.sketch import Sketch
from kinetree.constraints import mobility
from kinetree.views.bodies import link_poses


@drawing
def sparsity(robot: str = "humanoid", cell: float = 0.0) -> str:
    """Entries of the mass matrix at a random position: zero or not, on a logarithmic scale."""
    found = robot_of(robot)
    M = found.mass_matrix(found.random(rng=1))
    n, flow = len(M), Flow()
    size = cell or min(26.0, 330.0 / n)
    share = np.where(M != 0, np.log10(np.abs(M) + 1e-300), -np.inf)
    top, low = share.max(), share[np.isfinite(share)].min()
    for i in range(n):
        for j in range(n):
            x, y = j * size, i * size
            if np.isfinite(share[i, j]):
                strong = 0.25 + 0.75 * (share[i, j] - low) / max(top - low, 1e-9)
                flow.parts.append(
                    f'<rect class="k-on" fill-opacity="{strong:.2f}" x="{x:.1f}" y="{y:.1f}" '
                    f'width="{size - 1:.1f}" height="{size - 1:.1f}"/>'
                )
    flow.cell(-1, -1, n * size + 1, n * size + 1, "edge")
    return flow.svg(f"entries of the mass matrix of {robot} that are not zero")


@drawing
def closed_blocks(robot: str = "quadruped") -> str:
    """Blocks of W, L = (I - W)^-1 and M of a tree: parent, ancestors, and the links above."""
    model = robot_of(robot).model
    n, flow, size = len(model.links), Flow(), 0.0
    size = min(22.0, 170.0 / n)
    W = np.zeros((n, n), bool)
    for i in model.links:
        if model.parent[i] >= 0:
            W[i, model.parent[i]] = True
    L = np.linalg.matrix_power(np.eye(n) + W, n) > 0
    M = (L.T.astype(int) @ L.astype(int)) > 0
    for k, (name, A) in enumerate((("W", W), ("L = (I - W)^{-1}", L), ("M", M))):
        left = k * (n * size + 48)
        for i, j in zip(*np.nonzero(A), strict=True):
            kind = "two" if name == "W" else "on"
            flow.cell(left + j * size, i * size, size - 1, size - 1, kind)
        flow.cell(left - 1, -1, n * size + 1, n * size + 1, "edge")
        flow.words(left + n * size / 2, -16, f"${name}$", "")
    return flow.svg(f"blocks of W, L and M of {robot} that are not zero")


@drawing
def graph(robot: str = "planar_2r", quantity: str = "gravity_forces") -> str:
    """The graph of a small kernel: inputs on top, one node per operation, results below."""
    kernel = getattr(robot_of(robot), quantity)
    from kinetree.engine.compiler.graph import text as graph_text

    rows: list[tuple[str, str, list[str]]] = []
    outputs: list[str] = []
    for line in graph_text(kernel.graph).splitlines():
        if line.startswith("%"):
            name, _, formula = line.partition(" = ")
            words = formula.replace("(", " ").replace(")", " ").split()
            rows.append((name, formula, [x for x in words if x.startswith(("%", "q["))]))
        elif line.startswith("output"):
            outputs = line.partition(" = ")[2].split()
    level: dict[str, int] = {}
    for name, _, uses in rows:
        level[name] = 1 + max(level.get(x, 0) for x in uses)
    inputs = sorted({x for _, _, uses in rows for x in uses if x.startswith("q[")})
    flow, boxes = Flow(down=True), dict[str, Box]()
    wide, high = 150.0, 64.0
    for k, name in enumerate(inputs):
        boxes[name] = flow.box(
            (k - (len(inputs) - 1) / 2) * wide, 0, f"$q_{int(name[2]) + 1}$", kind="main"
        )
    for depth in range(1, 1 + max(level.values())):
        names = [row for row in rows if level[row[0]] == depth]
        names.sort(key=lambda row: sum(boxes[x].x for x in row[2]) / len(row[2]))
        for k, (name, formula, _) in enumerate(names):
            x = (k - (len(names) - 1) / 2) * wide
            boxes[name] = flow.box(x, depth * high, operation(formula))
    for name, _, uses in rows:
        for other in uses:
            flow.arrow(boxes[other], boxes[name], kind="soft")
    last = (1 + max(level.values())) * high
    for k, name in enumerate(outputs):
        end = flow.box((k - (len(outputs) - 1) / 2) * wide, last, f"$g_{k + 1}$", kind="hot")
        flow.arrow(boxes[name], end, kind="soft")
    return flow.svg(f"the graph of {quantity} of {robot}")


def operation(formula: str) -> str:
    """An operation without the names of its arguments, which the arrows show."""
    if formula.startswith(("sin", "cos")):
        return formula[:3]
    words = [w for w in formula.split() if not w.startswith("%")]
    shown = [f"{float(w):.4g}" if w[0].isdigit() else w.replace("*", "×") for w in words]
    joined = " ".join(shown)
    return {"- ×": "a - b × c"}.get(joined, f"{joined} b" if joined.endswith("+") else joined)


@drawing
def ellipsoids(robot: str = "planar_2r", height: float = 400.0) -> str:
    """A planar arm in three positions with the ellipse of its effective mass at the tool."""
    found = robot_of(robot)
    sketch = Sketch(view_of(found.model))
    largest = 0.0
    drawn = []
    for q in ([0.2, 0.5], [0.75, 1.3], [1.5, 1.9]):
        task = found.task_space(q, [0, 0], expressed="aligned", rows=(3, 4))
        mass, axes = np.linalg.eigh(task.Lambda)
        drawn.append((q, mass, axes))
        largest = max(largest, float(mass.max()))
    for k, (q, mass, axes) in enumerate(drawn):
        poses = link_poses(found.model, np.asarray(q))
        extent = bodies(sketch, found.model, poses, "link" if k == 0 else "ghost")
        joints(sketch, found.model, poses, extent)
        tip, angles = found.pose(q)[:3, 3], np.linspace(0, 2 * np.pi, 61)
        a, b = 0.42 * mass / largest
        ring = [
            tip + np.append(a * np.cos(t) * axes[:, 0] + b * np.sin(t) * axes[:, 1], 0)
            for t in angles
        ]
        sketch.line(ring, "warm", closed=True)
        sketch.label(ring[int(np.argmax([p @ sketch.view.right for p in ring]))],
                     f"{mass.min():.0f} to {mass.max():.0f} kg", "warm", (1.0, 0.0))  # fmt: skip
    sketch.frame(np.eye(4), 0.25, "{s}")
    return sketch.svg("ellipses of the effective mass at the tool of an arm", height=height)


def freedom(robot: kt.Robot) -> str:
    """Degrees of freedom in words; those of the mechanism if it has closed loops."""
    closed = robot.model.constraints is not None
    return f"{mobility(robot).degrees_of_freedom if closed else robot.n} degrees of freedom"


@drawing
def robots_sheet(names: str = "") -> str:
    """All built-in robots, drawn small, with their names and degrees of freedom."""
    from extension.sketch import above

    wanted = names.split(",") if names else list(kt.robots.__all__)
    flow, column, row = Flow(), 0, 0
    wide, high, across = 172.0, 172.0, 4
    for name in wanted:
        found = robot_of(name)
        from kinetree.views.loops import closed_rest

        q = closed_rest(found)[0]
        sketch = Sketch(
            view_of(found.model)
            if found.model.n < 4
            else above(-60.0 if found.n < 12 else 35.0, 18.0)
        )
        poses = link_poses(found.model, q)
        extent = bodies(sketch, found.model, poses, "slim" if found.n < 12 else "fine")
        joints(sketch, found.model, poses, extent)
        for mark in sketch.marks:
            mark.size *= 0.45 if found.n < 12 else 0.22
        inner = sketch.svg(name, 150.0, height=130.0)
        x, y = column * wide, row * high
        inner = inner.replace("<svg ", f'<svg x="{x + 6:.0f}" y="{y + 4:.0f}" ', 1)
        inner = fitted(inner, 160.0, 118.0)
        flow.parts.append(inner)
        flow.words(x + wide / 2, y + 134, name, "")
        flow.words(x + wide / 2, y + 152, freedom(found), "k-soft")
        flow.spans += [(x, y), (x + wide, y + high)]
        column, row = (column + 1, row) if column + 1 < across else (0, row + 1)
    return flow.svg("the built-in robots: " + ", ".join(wanted))


def fitted(inner: str, width: float, height: float) -> str:
    """An SVG with another size; its content is scaled to it."""
    import re

    inner = re.sub(r' width="[\d.]+"', f' width="{width:.0f}"', inner, count=1)
    inner = re.sub(r' height="[\d.]+" role', f' height="{height:.0f}" role', inner, count=1)
    return inner


@drawing
def shares(robot: str = "planar_2r", q: tuple = (), dq: tuple = (), ddq: tuple = ()) -> str:
    """Joint forces as sums of their parts: each bar begins where the one before it ends."""
    found = robot_of(robot)
    torque = found.explain(list(q), list(dq), list(ddq)).torque
    parts = {name: x for name, x in torque.shares.items() if np.abs(x).max() > 1e-9}
    flow, left, y = Flow(), 130.0, 0.0
    for k, joint in enumerate(torque.names):
        values = [float(x[k]) for x in parts.values()]
        sums = np.concatenate([[0.0], np.cumsum(values)])
        scale = 380.0 / (float(np.ptp(sums)) or 1.0)
        zero = left - scale * float(sums.min())
        flow.words(left - 120, y, joint, "strong", "start")
        y += 24
        for name, value, start in zip(parts, values, sums[:-1], strict=True):
            a, b = zero + scale * start, zero + scale * (start + value)
            flow.cell(min(a, b), y - 8, max(abs(b - a), 1.5), 16, "on" if value >= 0 else "two")
            flow.words(left - 12, y, name, "k-soft", "end")
            flow.words(left + 396, y, f"{value:.3f} N m", "k-soft", "start")
            y += 23
        flow.cell(min(zero, zero + scale * sums[-1]), y - 8, abs(scale * sums[-1]), 16, "three")
        flow.words(left - 12, y, "$tau$", "", "end")
        flow.words(left + 396, y, f"{sums[-1]:.3f} N m", "", "start")
        y += 34
    return flow.svg(f"joint forces of {robot} as sums of their parts")
