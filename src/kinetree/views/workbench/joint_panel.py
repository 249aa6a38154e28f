"""Sliders for q, dq and ddq, in rad or degrees, within the limits of the joints."""

from collections.abc import Callable
from math import degrees as to_degrees
from math import isfinite
from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.views.workbench.bench import Bench, by_hand, in_turn, update
from kinetree.views.workbench.handles import (
    Slider,
    acceleration_sliders,
    position_sliders,
    positions,
    rate_sliders,
    slider_values,
)
from kinetree.views.workbench.state import State, home
from kinetree.views.workbench.text import number

HOME, RANDOM, STILL = "home", "random", "still"
SAME = 1e-9  # rad or m: angles of a quaternion come back with rounding
STEPS = 2000  # of a slider from end to end


def add_joints(bench: Bench) -> None:
    """The tab of the joints."""
    gui, model = bench.server.gui, bench.state.robot.model
    buttons = gui.add_button_group("Set", (HOME, RANDOM, STILL))
    in_turn(buttons.on_click, lambda button: press(bench, button))
    tabs = gui.add_tab_group()
    unit = "deg" if bench.state.degrees else "rad"
    sets = (
        (
            f"q, {unit}",
            position_sliders(model, bench.scene.extent),
            read_positions,
            write_positions,
        ),
        (
            f"dq, {unit}/s",
            rate_sliders(model),
            lambda state: state.dq,
            lambda state, values: state.replace(dq=values),
        ),
        (
            f"ddq, {unit}/s²",
            acceleration_sliders(model),
            lambda state: state.ddq,
            lambda state, values: state.replace(ddq=values),
        ),
    )
    for label, sliders, read, write in sets:
        with tabs.add_tab(label):
            add_sliders(bench, sliders, read, write)


def press(bench: Bench, button: str) -> None:
    """Home, a random position within the limits, or no motion."""

    def pressed(state: State) -> State:
        if button == RANDOM:
            return state.replace(q=state.robot.random())
        zero = np.zeros(state.robot.n)
        q = home(state.robot) if button == HOME else state.q
        return state.replace(q=q, dq=zero, ddq=zero)

    update(bench, pressed)


def add_sliders(
    bench: Bench,
    sliders: list[Slider],
    read: Callable[[State], Array],
    write: Callable[[State, Array], State],
) -> None:
    """One slider a degree of freedom, that follows the state and changes it."""
    factors = [to_degrees(1) if s.angle and bench.state.degrees else 1.0 for s in sliders]
    nodes: list[Any] = []
    robot = bench.state.robot

    def moved(k: int) -> Callable[[Any], None]:
        def with_value(state: State) -> State:
            # read now, not before: of two callbacks the later one is not always the last to run
            asked = float(nodes[k].value) / factors[k]
            if state.robot is not robot or not isfinite(asked):  # another one took its place
                return state
            value = min(max(asked, sliders[k].low), sliders[k].high)
            known[k] = value if value == asked else np.nan
            values = np.array(read(state), float)
            values[k] = value
            return write(state, values)

        return by_hand(lambda _: update(bench, with_value))

    start = read(bench.state)
    # what each slider stands at, as far as we know; a hand may have moved it on by now, and is
    # not to be pulled back by a state that knows nothing of that yet
    known = np.array(start, float)
    for k, (slider, factor) in enumerate(zip(sliders, factors, strict=True)):
        low, high = slider.low * factor, slider.high * factor
        value = min(max(float(start[k]) * factor, low), high)
        marks = tuple((end, number(end, 3)) for end in (low, high))
        size = step(low, high)
        node = bench.server.gui.add_slider(slider.name, low, high, size, value, marks=marks)
        node.precision = decimals(size)  # more would not fit into the box beside it
        node.on_update(moved(k))
        nodes.append(node)

    def follow(state: State) -> None:
        values = read(state)
        with bench.changing:
            if state is not bench.state:  # a newer one will be shown next
                return
            for k in np.flatnonzero(~(np.abs(values - known) < SAME)):
                known[k] = values[k]
                slider = sliders[k]
                nodes[k].value = float(min(max(values[k], slider.low), slider.high) * factors[k])

    bench.refreshers.append(follow)


def step(low: float, high: float) -> float:
    """A round step of about a two-thousandth of the range: 1, 2 or 5 of some decimal place."""
    rough = max(high - low, 1e-9) / STEPS
    place = 10.0 ** np.floor(np.log10(rough))
    return float(next(k * place for k in (1, 2, 5, 10) if k * place >= rough * 0.999))


def decimals(size: float) -> int:
    """How many decimals a step of that size has."""
    return max(0, -int(np.floor(np.log10(size) + 1e-9)))


def read_positions(state: State) -> Array:
    """Slider values of q."""
    return slider_values(state.robot.model, state.q)


def write_positions(state: State, values: Array) -> State:
    """The state at a position from sliders."""
    return state.replace(q=positions(state.robot.model, values))
