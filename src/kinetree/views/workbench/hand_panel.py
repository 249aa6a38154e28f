"""The ellipsoids at the hand, in numbers and in the scene."""

from typing import Any

import numpy as np

from kinetree.spatial.so3 import quaternion
from kinetree.views.workbench.bench import Bench, by_hand, show
from kinetree.views.workbench.hand import COLOURS, KINDS, hand_ellipsoids, hand_reading
from kinetree.views.workbench.state import State

SIZE = 0.16  # of the longest axis, in extents


def add_hand(bench: Bench) -> None:
    """Which frame is the hand, which ellipsoids are drawn, and their axes in numbers."""
    gui, model = bench.server.gui, bench.state.robot.model
    frames = tuple(model.frames)
    frame = gui.add_dropdown("Frame", frames, initial_value=model.tool)
    shown = {kind: gui.add_checkbox(f"draw {kind}", False) for kind in KINDS}
    text = gui.add_html("")
    nodes: dict[str, Any] = {
        kind: bench.server.scene.add_icosphere(
            bench.node(f"hand/{kind}"), radius=1.0, color=COLOURS[kind], opacity=0.4, visible=False
        )
        for kind in KINDS
    }

    def refresh(state: State) -> None:
        name = frame.value if frame.value in frames else model.tool
        p = np.asarray(state.robot.pose(state.q, name), float)[:3, 3]
        found = hand_ellipsoids(state, name, SIZE * bench.scene.extent)
        text.content = hand_reading(name, p, found)
        for kind, node in nodes.items():
            if kind in found:  # placed before it is seen
                node.position = tuple(p)
                node.wxyz = tuple(quaternion(found[kind].R))
                node.scale = tuple(float(x) for x in found[kind].radii)
            node.visible = kind in found and shown[kind].value

    for element in (frame, *shown.values()):
        element.on_update(by_hand(lambda _: show(bench)))
    bench.refreshers.append(refresh)
