"""The readings on the left: joint forces, mass matrix, plots, hand, equations."""

import numpy as np

from kinetree.explain.torque import dof_units
from kinetree.views.workbench.bench import Bench
from kinetree.views.workbench.formulas import equations_reading
from kinetree.views.workbench.hand_panel import add_hand
from kinetree.views.workbench.mass_matrix import mass_reading, mass_unit
from kinetree.views.workbench.plot_panel import add_plots
from kinetree.views.workbench.state import State
from kinetree.views.workbench.torques import torque_reading, torques

WIDTH = 400  # pixels
TABS = ("Forces", "M", "Plots", "Hand", "Equations")


def add_reading_tabs(bench: Bench) -> None:
    """A panel of its own at the left edge, so that controls and readings are seen together."""
    panel = bench.server.gui.add_panel()
    bench.tabs |= {name: panel.add_tab(name) for name in TABS}
    panel.dock_left()
    panel.set_width(WIDTH)


def add_readings(bench: Bench) -> None:
    """What the tabs show of the robot of the bench."""
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
