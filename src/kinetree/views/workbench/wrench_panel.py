"""An external wrench by hand: two handles in the scene, drop the first on any link."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kinetree.model import Model
from kinetree.views.workbench.bench import Bench, by_hand, update
from kinetree.views.workbench.push_handles import Handles
from kinetree.views.workbench.shown import Shown
from kinetree.views.workbench.state import Push, State, external_wrenches
from kinetree.views.workbench.style import reading
from kinetree.views.workbench.text import escape, vector
from kinetree.views.workbench.wrench import first_push, with_push

HELP = reading(
    "<p>Drag the handle at the arrow's foot onto a link: it stays where it is let go, on the "
    "nearest one. Drag the handle at the tip to aim the force and to make it stronger.</p>"
)


def add_wrench(bench: Bench) -> None:
    """The tab of the wrench, and its handles and arrow in the scene."""
    gui, model = bench.server.gui, bench.state.robot.model
    on = gui.add_checkbox("push the robot", bench.state.push is not None)
    link = gui.add_dropdown("Link", model.link_names)
    force = gui.add_vector3("Force in {s}, N", (0.0, 0.0, 0.0), step=0.1)
    moment = gui.add_vector3("Moment in {s}, N m", (0.0, 0.0, 0.0), step=0.01)
    gui.add_html(HELP)
    text = gui.add_html("")
    handles = Handles(bench)
    shown = [Shown(element) for element in (on, link, force, moment)]
    for element, edit in zip(shown, (switch, choose, aim, turn), strict=True):
        element.element.on_update(by_hand(editor(bench, element, edit)))

    def refresh(state: State) -> None:
        push = state.push
        handles.follow(state)
        with bench.changing:
            if state is bench.state:  # else a newer one will be shown next
                for element, value in zip(shown, values(model, push), strict=False):
                    element.follow(value)
        if push is None:
            text.content = ""
            return
        F = external_wrenches(state)[push.link]
        text.content = reading(
            f"<p>on <b>{escape(model.link_names[push.link])}</b>, at {vector(push.point)} m of its "
            f"frame<br>F<sub>ext</sub> = (moment {vector(F[:3])} N m,<br>force {vector(F[3:])} N) "
            "in the frame of the link</p>"
        )

    bench.refreshers.append(refresh)


def values(model: Model, push: Push | None) -> tuple[Any, ...]:
    """What the elements of the tab stand at; without a push, only the first is told."""
    if push is None:
        return (False,)
    force, moment = (tuple(np.round(x, 6).tolist()) for x in (push.force, push.moment))
    return True, model.link_names[push.link], force, moment


def editor(bench: Bench, shown: Shown, edit: Callable[..., State]) -> Callable[[Any], None]:
    """A callback that takes what a hand has set into the state."""
    return lambda _: update(bench, lambda state: edit(state, shown.taken()))


def switch(state: State, wanted: bool) -> State:
    """With a push, or without."""
    if not wanted:
        return state.replace(push=None)
    return state if state.push is not None else state.replace(push=first_push(state))


def choose(state: State, name: str) -> State:
    """The push on another link, at its centre of mass."""
    model, push = state.robot.model, state.push
    if push is None or name not in model.link_names or name == model.link_names[push.link]:
        return state
    i = model.link_names.index(name)
    point = np.asarray(model.com[i], float)
    return state.replace(push=Push(i, point, push.force, push.moment))


def aim(state: State, force: Sequence[float]) -> State:
    """The push with another force, N in {s}."""
    f = np.array(force, float)
    return with_push(state, lambda _, x: replace(x, force=f)) if np.isfinite(f).all() else state


def turn(state: State, moment: Sequence[float]) -> State:
    """The push with another moment, N m in {s}."""
    n = np.array(moment, float)
    return with_push(state, lambda _, x: replace(x, moment=n)) if np.isfinite(n).all() else state
