"""Simulate, upload or record a motion, play it, and take it home."""

import threading
import time
from typing import Any

import numpy as np

from kinetree.base.tables import counted
from kinetree.robot import Robot
from kinetree.simulate.trajectory import Trajectory
from kinetree.views.workbench.bench import Bench, by_hand, take, tell, update
from kinetree.views.workbench.motions import MOTIONS, remark, sample, simulated
from kinetree.views.workbench.player import Player
from kinetree.views.workbench.plot_panel import plots_reading
from kinetree.views.workbench.recording import recorded
from kinetree.views.workbench.state import State
from kinetree.views.workbench.style import reading
from kinetree.views.workbench.takeaway import as_csv, as_page, read_motion_file
from kinetree.views.workbench.text import escape, number

PLAY, PAUSE = "Play", "Pause"
RECORD, FINISH = "Record what I do", "Finish recording"
WAIT = reading("<p>Simulating; the first time, the robot is compiled for it ...</p>")
SPEEDS = {"1/10": 0.1, "1/4": 0.25, "1": 1.0, "2": 2.0}


def add_motion(bench: Bench) -> None:
    """The tab of motions."""
    gui = bench.server.gui
    motion = gui.add_dropdown("Motion", tuple(MOTIONS))
    duration = gui.add_number("Duration, s", 2.0, min=0.1, max=60.0, step=0.1)
    run = gui.add_button("Simulate from here")
    record = gui.add_button(RECORD)
    upload = gui.add_upload_button("Open a trajectory (CSV)", mime_type=".csv,text/csv")
    note = gui.add_html("")
    clock = Clock(bench, note)

    def simulate(_: Any) -> None:
        clock.player.stop()
        run.disabled, note.content = True, WAIT
        state = bench.state
        try:
            found = simulated(state, motion.value, float(duration.value))
        finally:
            run.disabled, note.content = False, ""
        clock.start(state.robot, found)

    def open_file(event: Any) -> None:
        file, robot = event.target.value, bench.state.robot
        clock.start(robot, read_motion_file(robot, file.name, file.content, bench.folder))

    run.on_click(by_hand(simulate))
    upload.on_upload(by_hand(open_file))
    add_recorder(bench, record, clock)
    add_takeaway(bench)


class Clock:
    """Time of the motion: a slider, a button, a speed, and the thread that moves them."""

    def __init__(self, bench: Bench, note: Any) -> None:
        gui = bench.server.gui
        self.bench, self.note, self.robot = bench, note, bench.state.robot
        self.asked, self.turn = 0.0, threading.Lock()
        self.time = gui.add_slider("Time, s", 0.0, 1.0, 0.01, 0.0, disabled=True)
        self.button = gui.add_button(PLAY, disabled=True)
        self.speed = gui.add_dropdown("Speed", tuple(SPEEDS), initial_value="1")
        self.player = Player(self.at, self.ended)
        self.time.on_update(self.ask)
        self.time.on_update(by_hand(self.slide))
        self.button.on_click(by_hand(self.press))
        bench.watchers.append(self.take)
        bench.closers.append(self.player.stop)
        if bench.trajectory is not None:
            self.take(bench.trajectory)

    def start(self, robot: Robot, trajectory: Trajectory) -> None:
        """Play a new motion of a robot."""
        if take(self.bench, robot, trajectory):
            self.play()

    def take(self, trajectory: Trajectory) -> None:
        """A new motion begins at its beginning."""
        length = max(trajectory.duration, 1e-6)
        self.time.max, self.time.value = length, 0.0
        self.time.disabled = self.button.disabled = False
        self.note.content = reading(
            f"<p><b>{escape(trajectory.name)}</b>: {number(length)} s, "
            f"{counted(len(trajectory), 'sample')}. {escape(remark(trajectory))}</p>"
        )
        self.plot(0.0)

    def at(self, now: float) -> None:
        """Show the motion at a time since its start, s."""
        trajectory = self.bench.trajectory
        if trajectory is None:
            return
        self.time.value = now
        q, dq, ddq = sample(trajectory, float(trajectory.t[0]) + now)

        def moved(state: State) -> State:
            same = state.robot is self.robot  # else another one took its place
            return state.replace(q=q, dq=dq, ddq=ddq) if same else state

        update(self.bench, moved)
        self.plot(now)

    def plot(self, now: float) -> None:
        """Move the mark in the plots."""
        trajectory = self.bench.trajectory
        if trajectory is not None:
            at = float(trajectory.t[0]) + now
            self.bench.plots.content = plots_reading(self.bench.state.robot, trajectory, at)

    async def ask(self, event: Any) -> None:
        """Note at once where a hand moved the time: the player goes on until a thread is free."""
        if event.client is not None:
            self.asked = float(event.target.value)

    def slide(self, _: Any) -> None:
        """A hand moves the time."""
        with self.turn:
            if self.bench.state.robot is not self.robot:  # the slider is gone
                return
            self.player.stop()
            self.button.label = PLAY
            if np.isfinite(self.asked):
                self.at(self.asked)

    def press(self, _: Any) -> None:
        """Play or pause."""
        with self.turn:
            if self.player.playing:
                self.player.stop()
                self.button.label = PLAY
            else:
                self.play()

    def play(self) -> None:
        """Play on; from the beginning once the end is reached."""
        if self.bench.trajectory is None:
            return
        end = self.bench.trajectory.duration
        start = float(self.time.value)
        start = 0.0 if start >= end - 1e-9 else start
        self.button.label = PAUSE
        self.player.play(start, end, SPEEDS.get(self.speed.value, 1.0))

    def ended(self) -> None:
        """The end was reached."""
        self.button.label = PLAY


def add_recorder(bench: Bench, button: Any, clock: Clock) -> None:
    """Keep what sliders do, with its times, until the button is pressed again."""
    kept: list[tuple[float, Any]] = []

    def keep(state: State) -> None:
        if button.label == FINISH:
            kept.append((time.monotonic(), state.q))

    def press(_: Any) -> None:
        clock.player.stop()
        with bench.showing:  # what is kept stays in the order of its times
            if button.label == RECORD:
                kept.clear()
                button.label = FINISH
                keep(bench.state)
                return
            button.label = RECORD
            kept.append((time.monotonic(), bench.state.q))
        take(bench, bench.state.robot, recorded(bench.state.robot, kept))

    button.on_click(by_hand(press))
    bench.refreshers.append(keep)


def add_takeaway(bench: Bench) -> None:
    """Buttons that hand out the motion as a file."""
    gui = bench.server.gui

    def hand_out(name: str, make: Any) -> Any:
        def press(event: Any) -> None:
            if bench.trajectory is None:
                tell(event.client, "No motion yet", "Simulate, open or record one first.", "yellow")
                return
            content = make(bench, bench.trajectory)
            event.client.send_file_download(name, content, save_immediately=True)

        return by_hand(press)

    gui.add_button("Save the motion (CSV)").on_click(hand_out("motion.csv", as_csv))
    gui.add_button("Save this session (one HTML file)").on_click(hand_out("session.html", as_page))
