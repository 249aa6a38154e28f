"""The readings at the left edge: joint forces, mass matrix, plots, hand and equations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from kinetree.algorithms import Ellipsoid
from kinetree.base.arrays import Array
from kinetree.base.tables import html_table, steady_number
from kinetree.errors import SingularityError
from kinetree.explain.torque import dof_units
from kinetree.formulations.drives import frictionless, load_coefficients
from kinetree.model import Model
from kinetree.model.bounds import bounds_of
from kinetree.robot import Robot
from kinetree.spatial.so3 import quaternion
from kinetree.views.workbench.bench import Bench, show, user_action
from kinetree.views.workbench.markup import COLOURS, equations_reading, percent, reading, vector
from kinetree.views.workbench.plots import add_plots
from kinetree.views.workbench.state import State, external_wrenches

if TYPE_CHECKING:
    from viser import IcosphereHandle

WIDTH = 400  # pixels
TABS = ("Forces", "M", "Plots", "Hand", "Equations")
# headings of the parts of tau; "spring" is left out for robots without springs
HEADS = {
    "inertia": "M q̈", "Coriolis": "c", "gravity": "g", "spring": "k", "friction": "b",
    "external": "ext", "constraints": "−Jᵀλ",
}  # fmt: skip
MOST_NUMBERS = 8  # degrees of freedom up to which the cells of M have numbers
POSITIVE, NEGATIVE = (33, 102, 172), (178, 24, 43)
KINDS = {"mass": ("effective mass", "kg"), "force": ("force", "N per N m of torque")}
ELLIPSOIDS = {"mass": (46, 134, 193), "force": (230, 126, 34)}
NO_ELLIPSOIDS = "Mass and force ellipsoids are not computed for robots with constraints."
SIZE = 0.16  # longest axis of an ellipsoid, in extents


def add_reading_tabs(bench: Bench) -> None:
    """Add a panel at the left edge, so that controls and readings are visible together."""
    panel = bench.server.gui.add_panel()
    bench.tabs |= {name: panel.add_tab(name) for name in TABS}
    panel.dock_left()
    panel.set_width(WIDTH)


def add_readings(bench: Bench) -> None:
    """Fill the tabs for the robot of the bench."""
    gui, tabs = bench.server.gui, bench.tabs
    with tabs["Forces"]:
        forces = gui.add_html("")
    with tabs["M"]:
        mass = gui.add_html("")
    with tabs["Plots"]:
        add_plots(bench)
    with tabs["Hand"]:
        add_hand(bench)
    with tabs["Equations"]:
        gui.add_html(equations_reading(bench.state.robot))

    unit = mass_unit(dof_units(bench.state.robot.model))

    def refresh(state: State) -> None:
        forces.content = torque_reading(torques(state))
        M = np.asarray(state.robot.mass_matrix(state.q), float)
        mass.content = mass_reading(state.robot.model.dof_names, M, unit)

    bench.refreshers.append(refresh)


@dataclass(frozen=True, eq=False)
class Torques:
    """tau = M ddq + c + g + springs + b + external, (n,) each, N m or N; no limit is infinite.

    A robot with constraints has one more part, and tau of joints without motors is zero.
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    parts: Mapping[str, Array]
    tau: Array
    limits: Array


def torques(state: State) -> Torques:
    """The joint forces of the state, from the compiled kernels."""
    robot, q, dq, ddq = state.robot, state.q, state.dq, state.ddq
    if robot.model.constraints is not None:
        return constrained_torques(state)
    tau = robot.inverse_dynamics(q, dq, ddq, external_wrenches(state))
    free = robot.inverse_dynamics(q, dq, ddq)
    parts = {
        "inertia": robot.mass_matrix(q) @ ddq,
        "Coriolis": robot.coriolis_forces(q, dq),
        "gravity": robot.gravity_forces(q),
        **({"spring": robot.spring_forces(q)} if robot.model.springs else {}),
        "friction": robot.friction_forces(dq),
        "external": tau - free,
    }
    if load_coefficients(robot.model):  # friction depends on all other forces
        bare = Robot(frictionless(robot.model))
        loaded = bare.inverse_dynamics(q, dq, ddq, external_wrenches(state))
        parts["friction"] = tau - loaded
        parts["external"] = loaded - bare.inverse_dynamics(q, dq, ddq)
    model = robot.model
    return Torques(model.dof_names, dof_units(model), parts, tau, effort_limits(model, dq, tau))


def constrained_torques(state: State) -> Torques:
    """The forces of the motors, with the part that the constraints carry."""
    robot, q, dq, ddq = state.robot, state.q, state.dq, state.ddq
    JT = np.asarray(robot.constraint_jacobian(q), float).T

    def loads(*F_ext: Array) -> tuple[Array, Array, Array]:
        tau, lam, left, _ = robot.constrained_inverse_dynamics(q, dq, ddq, *F_ext)
        return tau, JT @ lam, tau + JT @ lam + left  # the last are the joint forces of the tree

    tau, carried, tree = loads(external_wrenches(state))
    parts = {
        "inertia": robot.mass_matrix(q) @ ddq,
        "Coriolis": robot.coriolis_forces(q, dq),
        "gravity": robot.gravity_forces(q),
        **({"spring": robot.spring_forces(q)} if robot.model.springs else {}),
        "friction": robot.friction_forces(dq),
        "external": tree - loads()[2],
        "constraints": -carried,
    }
    model = robot.model
    return Torques(model.dof_names, dof_units(model), parts, tau, effort_limits(model, dq, tau))


def effort_limits(model: Model, dq: Array, tau: Array) -> Array:
    """The largest |tau| of every degree of freedom at rates dq, in the direction of tau, (n,)."""
    least, most = bounds_of(model).forces(np.asarray(dq, float))
    return np.where(tau >= 0, most, -least)


def torque_reading(x: Torques) -> str:
    """A table of the joint forces and their parts, with a bar below each row."""
    keys = "".join(
        f'<span><i class="kt-key" style="background:{colour}"></i>{name}</span>'
        for name, colour in COLOURS.items()
        if name in x.parts
    )
    heads = [HEADS[name] for name in x.parts]
    head = "".join(f"<th>{text}</th>" for text in ("joint", "τ", *heads, "limit"))
    scale = bar_scales(x)
    rows = [torque_row(x, i) + bar_row(x, i, scale[i]) for i in range(len(x.tau))]
    table = f'<table class="kt-table"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody>'
    return reading(f"<h4>Joint forces τ, N m or N</h4>{table}</table><p>{keys}</p>")


def torque_row(x: Torques, i: int) -> str:
    """Numbers of one degree of freedom; `data-tau` has all digits."""
    share = abs(x.tau[i]) / x.limits[i] if isfinite(x.limits[i]) and x.limits[i] > 0 else None
    limit = "" if share is None else percent(share)
    css = ' class="kt-over"' if share is not None and share > 1 else ""
    name = escape(x.names[i])
    parts = "".join(f"<td>{steady_number(part[i], 3)}</td>" for part in x.parts.values())
    tau = f'<b{css} data-tau="{i}" data-value="{float(x.tau[i])!r}">{steady_number(x.tau[i])}</b>'
    title = f"{name}, {x.units[i]}"
    return f'<tr><td title="{title}">{name}</td><td>{tau}</td>{parts}<td{css}>{limit}</td></tr>'


def bar_scales(x: Torques) -> Array:
    """Force of half a bar: the effort limit, or without one the largest sum of parts."""
    sums = sum((np.abs(part) for part in x.parts.values()), np.zeros(len(x.tau)))
    largest = max(float(np.max(sums, initial=0.0)), 1e-9)
    limited = np.isfinite(x.limits) & (x.limits > 0)
    return np.where(limited, x.limits, largest)


def bar_row(x: Torques, i: int, scale: float) -> str:
    """Parts end to end, positive ones to the right of zero; the mark is tau."""
    right, left, boxes = 0.0, 0.0, ""
    for name, colour in COLOURS.items():
        if name not in x.parts:
            continue
        value = float(np.clip(x.parts[name][i] / scale, -1, 1)) * 100
        start = right if value > 0 else left + value
        boxes += (
            f'<rect x="{start:.2f}" y="1" width="{abs(value):.2f}" height="5" fill="{colour}"/>'
        )
        right, left = (right + value, left) if value > 0 else (right, left + value)
    mark = float(np.clip(x.tau[i] / scale, -1, 1)) * 100
    return (
        f'<tr class="bar"><td colspan="{len(x.parts) + 3}"><svg viewBox="-100 0 200 7" height="7" '
        'preserveAspectRatio="none"><rect x="-100" y="3" width="200" height="1" '
        f'fill="var(--kt-line)"/>{boxes}<rect x="{mark - 0.4:.2f}" y="0" width="0.8" height="7" '
        'fill="currentColor"/></svg></td></tr>'
    )


def mass_unit(units: Sequence[str]) -> str:
    """Unit of M for joint forces of these units; the list of units if they are mixed."""
    kinds = set(units)
    return "kg m²" if kinds == {"N m"} else "kg" if kinds == {"N"} else "kg m², kg m or kg"


def mass_reading(names: tuple[str, ...], M: Array, unit: str = "kg m²") -> str:
    """M as a heat map, with numbers for small robots, and its smallest and largest eigenvalue."""
    values = np.linalg.eigvalsh(M) if len(M) else np.ones(1)
    note = (
        f"<p>Blue is positive, red negative; strength is |M<sub>ij</sub>| against the largest. "
        f"Eigenvalues {steady_number(values[0])} to {steady_number(values[-1])}.</p>"
    )
    key = "".join(f"<li>{escape(name)}</li>" for name in names)
    columns = "2" if len(names) > MOST_NUMBERS else "1"
    rows = f'<ol style="columns:{columns};margin:4px 0 0;padding-left:22px">{key}</ol>'
    return reading(f"<h4>Mass matrix M(q), {unit}</h4>{heat_map(names, M)}{note}{rows}")


def heat_map(names: tuple[str, ...], M: Array) -> str:
    """A square of cells; the tooltip of each has its row, column and value."""
    n = len(M)
    largest = max(float(np.max(np.abs(M), initial=0.0)), 1e-300)
    cells = "".join(cell(names, M, i, j, largest) for i in range(n) for j in range(n))
    labels = "".join(
        f'<text x="{k * 10 + 5}" y="-2">{k + 1}</text>'
        f'<text x="-4" y="{k * 10 + 6.3}">{k + 1}</text>'
        for k in range(n)
    )
    return (
        f'<svg viewBox="-9 -8 {10 * n + 10} {10 * n + 9}" font-size="{3.4 if n <= 12 else 5}" '
        f'text-anchor="middle" style="max-height:360px">{cells}'
        f'<g fill="var(--kt-dim)">{labels}</g></svg>'
    )


def cell(names: tuple[str, ...], M: Array, i: int, j: int, largest: float) -> str:
    """One entry of M; the square root of its size makes small couplings visible."""
    value = float(M[i, j])
    strength = (abs(value) / largest) ** 0.5
    r, g, b = (round(255 + (c - 255) * strength) for c in (POSITIVE if value >= 0 else NEGATIVE))
    title = f"{escape(names[i])}, {escape(names[j])}: {steady_number(value, 6)}"
    text = ""
    if len(M) <= MOST_NUMBERS:
        ink = "#fff" if strength > 0.6 else "#17202a"
        text = f'<text x="{10 * j + 5}" y="{10 * i + 6}" fill="{ink}" font-size="2.5">'
        text += f"{steady_number(value, 3)}</text>"
    return (
        f'<g><title>{title}</title><rect x="{10 * j}" y="{10 * i}" width="9.6" height="9.6" '
        f'rx="0.8" fill="rgb({r},{g},{b})" data-m="{i},{j}" data-value="{value!r}"/>{text}</g>'
    )


def add_hand(bench: Bench) -> None:
    """Add the choice of the hand's frame, and its mass and force ellipsoids."""
    gui, model = bench.server.gui, bench.state.robot.model
    frames, tied = tuple(model.frames), model.constraints is not None
    frame = gui.add_dropdown("Frame", frames, initial_value=model.tool)
    shown = {kind: gui.add_checkbox(f"draw {kind}", False) for kind in KINDS}
    text = gui.add_html("")
    nodes: dict[str, IcosphereHandle] = {
        kind: bench.server.scene.add_icosphere(
            bench.node(f"hand/{kind}"),
            radius=1.0,
            color=ELLIPSOIDS[kind],
            opacity=0.4,
            visible=False,
        )
        for kind in KINDS
    }

    def refresh(state: State) -> None:
        name = frame.value if frame.value in frames else model.tool
        p = np.asarray(state.robot.pose(state.q, name), float)[:3, 3]
        found = hand_ellipsoids(state, name, SIZE * bench.scene.extent)
        text.content = hand_reading(name, p, found, NO_ELLIPSOIDS if tied else "")
        for kind, node in nodes.items():
            if kind in found:  # placed before it is made visible
                node.position = tuple(p)
                node.wxyz = tuple(quaternion(found[kind].R))
                a, b, c = found[kind].radii.tolist()
                node.scale = (a, b, c)
            node.visible = kind in found and shown[kind].value

    for element in (frame, *shown.values()):
        element.on_update(user_action(lambda _: show(bench)))
    bench.refreshers.append(refresh)


@dataclass(frozen=True, eq=False)
class Drawn:
    """An ellipsoid as drawn: R and semi-axes in m; `lengths` are the values that they show."""

    R: Array
    radii: Array
    lengths: Array


def hand_ellipsoids(state: State, frame: str | None, size: float) -> dict[str, Drawn]:
    """Mass and force ellipsoid at a frame, the longest finite axis of each `size` long."""
    found: dict[str, Drawn] = {}
    for kind in KINDS if state.robot.model.constraints is None else ():
        try:
            ellipsoid = getattr(state.robot, f"{kind}_ellipsoid")(state.q, frame)
        except SingularityError:
            continue  # a link without mass: M has no inverse, and there is no ellipsoid
        found[kind] = drawn(ellipsoid, size)
    return found


def drawn(ellipsoid: Ellipsoid, size: float) -> Drawn:
    """Scale an ellipsoid to `size`; an infinite axis, without mobility, is drawn 1.5 as long."""
    lengths = ellipsoid.lengths
    finite = lengths[np.isfinite(lengths)]
    scale = size / max(float(np.max(finite, initial=0.0)), 1e-12)
    radii = np.where(np.isfinite(lengths), lengths * scale, 1.5 * size)
    R = np.array(ellipsoid.axes, float)
    if np.linalg.det(R) < 0:
        R[:, 0] = -R[:, 0]
    return Drawn(R, np.maximum(radii, 0.01 * size), lengths)


def hand_reading(frame: str, p: Array, found: dict[str, Drawn], note: str = "") -> str:
    """The axes of the ellipsoids in numbers; note: a sentence below the position."""
    body = f"<h4>Hand: {escape(frame)}</h4><p>at {vector(p)} m in {{s}}</p>"
    body += f"<p>{escape(note)}</p>" if note else ""
    for kind, ellipsoid in found.items():
        quantity, unit = KINDS[kind]
        rows = [
            [vector(np.round(axis, 6)), steady_number(length)]
            for axis, length in zip(ellipsoid.R.T, ellipsoid.lengths, strict=True)
        ]
        head = ["direction in {s}", f"{quantity}, {unit}"]
        body += f"<h4>{kind} ellipsoid</h4>" + html_table(head, rows, css="kt-table kt-wide")
    if any(not np.isfinite(x.lengths).all() for x in found.values()):
        body += "<p>∞: the hand cannot move in this direction; the joints hold any force.</p>"
    return reading(body)
