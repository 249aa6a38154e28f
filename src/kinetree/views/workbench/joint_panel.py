"""Sliders for q, dq and ddq, in rad or degrees, within the limits of the joints."""

from collections.abc import Callable
from math import degrees as to_degrees
from math import isfinite
from typing import Any

import numpy as np

from kinetree.arrays import Array
from kinetree.views.workbench.bench import Bench, by_hand, change
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
STEPS = 2000  # of a slider from end to end


def add_joints(bench: Bench) -> None:
    """The tab of the joints."""
    gui, model = bench.server.gui, bench.state.robot.model
    buttons = gui.add_button_group("Set", (HOME, RANDOM, STILL))
    buttons.on_click(by_hand(lambda event: press(bench, event.target.value)))
    tabs = gui.add_tab_group()
    unit = "deg" if bench.state.degrees else "rad"
    sets = (
        (f"q, {unit}", position_sliders(model, bench.scene.extent), read_positions),
        (f"dq, {unit}/s", rate_sliders(model), lambda state: state.dq),
        (f"ddq, {unit}/s²", acceleration_sliders(model), lambda state: state.ddq),
    )
    writers = (write_positions, write_rates, write_accelerations)
    for (label, sliders, read), write in zip(sets, writers, strict=True):
        with tabs.add_tab(label):
            add_sliders(bench, sliders, read, write)


def press(bench: Bench, button: str) -> None:
    """Home, a random position within the limits, or no motion."""
    zero, robot = np.zeros(bench.state.robot.n), bench.state.robot
    if button == HOME:
        change(bench, q=home(robot), dq=zero, ddq=zero)
    elif button == RANDOM:
        change(bench, q=robot.random())
    else:
        change(bench, dq=zero, ddq=zero)


def add_sliders(
    bench: Bench,
    sliders: list[Slider],
    read: Callable[[State], Array],
    write: Callable[[Bench, Array], None],
) -> None:
    """One slider a degree of freedom, that follows the state and changes it."""
    factors = [to_degrees(1) if s.angle and bench.state.degrees else 1.0 for s in sliders]
    nodes: list[Any] = []
    robot = bench.state.robot

    def moved(k: int) -> Callable[[Any], None]:
        def act(event: Any) -> None:
            value = float(event.target.value)
            if not isfinite(value) or bench.state.robot is not robot:  # another one took its place
                return
            values = np.array(read(bench.state), float)
            values[k] = min(max(value / factors[k], sliders[k].low), sliders[k].high)
            write(bench, values)

        return by_hand(act)

    start = read(bench.state)
    for k, (slider, factor) in enumerate(zip(sliders, factors, strict=True)):
        low, high = slider.low * factor, slider.high * factor
        value = min(max(float(start[k]) * factor, low), high)
        marks = tuple((end, number(end, 3)) for end in (low, high))
        node = bench.server.gui.add_slider(
            slider.name, low, high, step(low, high), value, marks=marks
        )
        node.on_update(moved(k))
        nodes.append(node)

    def follow(state: State) -> None:
        for node, value, slider, factor in zip(nodes, read(state), sliders, factors, strict=True):
            node.value = float(min(max(value, slider.low), slider.high) * factor)

    bench.refreshers.append(follow)


def step(low: float, high: float) -> float:
    """A round step of about a two-thousandth of the range: 1, 2 or 5 of some decimal place."""
    rough = max(high - low, 1e-9) / STEPS
    place = 10.0 ** np.floor(np.log10(rough))
    return float(next(k * place for k in (1, 2, 5, 10) if k * place >= rough * 0.999))


def read_positions(state: State) -> Array:
    """Slider values of q."""
    return slider_values(state.robot.model, state.q)


def write_positions(bench: Bench, values: Array) -> None:
    """A position from sliders."""
    change(bench, q=positions(bench.state.robot.model, values))


def write_rates(bench: Bench, values: Array) -> None:
    """Rates from sliders."""
    change(bench, dq=values)


def write_accelerations(bench: Bench, values: Array) -> None:
    """Accelerations from sliders."""
    change(bench, ddq=values)
