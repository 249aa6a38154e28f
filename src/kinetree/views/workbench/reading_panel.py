"""The readings on the left: joint forces, mass matrix, plots, hand, equations."""

import numpy as np

from kinetree.views.workbench.bench import Bench
from kinetree.views.workbench.formulas import equations_reading
from kinetree.views.workbench.hand_panel import add_hand
from kinetree.views.workbench.mass_matrix import mass_reading
from kinetree.views.workbench.plot_panel import add_plots
from kinetree.views.workbench.state import State
from kinetree.views.workbench.torques import torque_reading, torques

WIDTH = 400  # pixels


def add_readings(bench: Bench) -> None:
    """A panel of its own at the left edge, so that controls and readings are seen together."""
    gui = bench.server.gui
    panel = gui.add_panel()
    bench.parts.append(panel)
    with panel.add_tab("Forces"):
        forces = gui.add_html("")
    with panel.add_tab("M"):
        mass = gui.add_html("")
    with panel.add_tab("Plots"):
        add_plots(bench)
    with panel.add_tab("Hand"):
        add_hand(bench)
    with panel.add_tab("Equations"):
        gui.add_html(equations_reading(bench.state.robot))
    panel.dock_left()
    panel.set_width(WIDTH)

    def refresh(state: State) -> None:
        forces.content = torque_reading(torques(state))
        M = np.asarray(state.robot.mass_matrix(state.q), float)
        mass.content = mass_reading(state.robot.model.dof_names, M)

    bench.refreshers.append(refresh)
