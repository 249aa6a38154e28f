"""The tab Motion: simulate, open or record a motion, play it, and save it."""

import threading
import time
from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from kinetree.base.arrays import Array
from kinetree.base.tables import counted, steady_number
from kinetree.robot import Robot
from kinetree.trajectory import Trajectory
from kinetree.views.workbench.bench import Bench, Event, notify, take, update, user_action
from kinetree.views.workbench.files import as_csv, as_page, read_motion_file
from kinetree.views.workbench.markup import reading
from kinetree.views.workbench.motions import MOTIONS, recorded, remark, sample, simulated
from kinetree.views.workbench.plots import plots_reading
from kinetree.views.workbench.state import State

if TYPE_CHECKING:
    from viser import GuiButtonHandle, GuiHtmlHandle, GuiSliderHandle

PLAY, PAUSE = "Play", "Pause"
RECORD, FINISH = "Record slider motion", "Finish recording"
WAIT = reading("<p>Simulating. The first run takes longer: the robot is compiled ...</p>")
FRAMES = 20  # per second
NAME = "kinetree player"  # name of the player's thread
SPEEDS = {"1/10": 0.1, "1/4": 0.25, "1": 1.0, "2": 2.0}


def add_motion(bench: Bench) -> None:
    """Add the choice of a motion, the player, the recorder and the buttons that save."""
    gui = bench.server.gui
    motion = gui.add_dropdown("Motion", tuple(MOTIONS))
    duration = gui.add_number("Duration, s", 2.0, min=0.1, max=60.0, step=0.1)
    run = gui.add_button("Simulate from here")
    record = gui.add_button(RECORD)
    upload = gui.add_upload_button("Open a trajectory (CSV)", mime_type=".csv,text/csv")
    note = gui.add_html("")
    clock = Clock(bench, note)

    def simulate(_: Event) -> None:
        clock.player.stop()
        run.disabled, note.content = True, WAIT
        state = bench.state
        try:
            found = simulated(state, motion.value, float(duration.value))
        finally:
            run.disabled, note.content = False, ""
        clock.start(state.robot, found)

    def open_file(event: Event) -> None:
        file, robot = event.target.value, bench.state.robot
        clock.start(robot, read_motion_file(robot, file.name, file.content, bench.folder))

    run.on_click(user_action(simulate))
    upload.on_upload(user_action(open_file))
    add_recorder(bench, record, clock)
    add_downloads(bench)


class Player:
    """A thread that calls `step(time)` FRAMES times per second, from a start time to an end time.

    Speed 1 is real time. Frames that are late are skipped.
    """

    def __init__(self, step: Callable[[float], None], ended: Callable[[], None]) -> None:
        self._step, self._ended = step, ended
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._turn = threading.RLock()  # two threads that call play leave one player running

    @property
    def playing(self) -> bool:
        """True while the thread runs."""
        return self._thread is not None and self._thread.is_alive()

    def play(self, start: float, end: float, speed: float) -> None:
        """Play from `start` to `end`, s of the motion; a run under way is stopped."""
        with self._turn:
            self.stop()
            stop = self._stop = threading.Event()
            times = (stop, start, end, speed)
            run = threading.Thread(target=self._run, args=times, name=NAME, daemon=True)
            self._thread = run
            run.start()

    def stop(self) -> None:
        """Stop playing, and wait until the frame under way is done."""
        self._stop.set()  # before the lock is taken, so that a thread in `play` does not delay it
        with self._turn:
            self._stop.set()
            run, self._thread = self._thread, None
            if run is not None and run is not threading.current_thread():
                run.join(timeout=5)

    def _run(self, stop: threading.Event, start: float, end: float, speed: float) -> None:
        began = time.monotonic()
        now = start
        while now < end and not stop.is_set():
            now = min(start + speed * (time.monotonic() - began), end)
            self._step(now)
            stop.wait(1 / FRAMES)
        if not stop.is_set():
            if self._thread is threading.current_thread():  # else play was called again
                self._thread = None
            self._ended()


class Clock:
    """Time of the motion: a slider, a play button, a speed, and the player that moves them."""

    def __init__(self, bench: Bench, note: "GuiHtmlHandle") -> None:
        gui = bench.server.gui
        self.bench, self.note, self.robot = bench, note, bench.state.robot
        self.asked, self.turn = 0.0, threading.Lock()
        self.time: GuiSliderHandle[float]
        self.time = gui.add_slider("Time, s", 0.0, 1.0, 0.01, 0.0, disabled=True)
        self.button = gui.add_button(PLAY, disabled=True)
        self.speed = gui.add_dropdown("Speed", tuple(SPEEDS), initial_value="1")
        self.player = Player(self.at, self.ended)
        self.time.on_update(self.ask)
        self.time.on_update(user_action(self.slide))
        self.button.on_click(user_action(self.press))
        bench.watchers.append(self.take)
        bench.closers.append(self.player.stop)
        if bench.trajectory is not None:
            self.take(bench.trajectory)

    def start(self, robot: Robot, trajectory: Trajectory) -> None:
        """Play a new motion, unless another robot was opened since."""
        if take(self.bench, robot, trajectory):
            self.play()

    def take(self, trajectory: Trajectory) -> None:
        """Show a new motion at its start."""
        length = max(trajectory.duration, 1e-6)
        self.time.max, self.time.value = length, 0.0
        self.time.disabled = self.button.disabled = False
        self.note.content = reading(
            f"<p><b>{escape(trajectory.name)}</b>: {steady_number(length)} s, "
            f"{counted(len(trajectory), 'sample')}. {escape(remark(trajectory))}</p>"
        )
        self.plot(0.0)

    def at(self, now: float) -> None:
        """Show the motion at `now`, s since its start."""
        trajectory = self.bench.trajectory
        if trajectory is None:
            return
        self.time.value = now
        q, dq, ddq = sample(trajectory, float(trajectory.t[0]) + now)

        def moved(state: State) -> State:
            same = state.robot is self.robot  # else another robot was opened
            return state.replace(q=q, dq=dq, ddq=ddq) if same else state

        update(self.bench, moved)
        self.plot(now)

    def plot(self, now: float) -> None:
        """Move the mark in the plots."""
        trajectory = self.bench.trajectory
        if trajectory is not None and self.bench.plots is not None:
            at = float(trajectory.t[0]) + now
            self.bench.plots.content = plots_reading(self.bench.state.robot, trajectory, at)

    async def ask(self, event: Event) -> None:
        """Note the time that a user chose, at once: the player moves on until a thread is free."""
        if event.client is not None:
            self.asked = float(event.target.value)

    def slide(self, _: Event) -> None:
        """Stop at the time that a user chose."""
        with self.turn:
            if self.bench.state.robot is not self.robot:  # the slider was removed
                return
            self.player.stop()
            self.button.label = PLAY
            if np.isfinite(self.asked):
                self.at(self.asked)

    def press(self, _: Event) -> None:
        """Play or pause."""
        with self.turn:
            if self.player.playing:
                self.player.stop()
                self.button.label = PLAY
            else:
                self.play()

    def play(self) -> None:
        """Continue to play; at the end, play from the start."""
        if self.bench.trajectory is None:
            return
        end = self.bench.trajectory.duration
        start = float(self.time.value)
        start = 0.0 if start >= end - 1e-9 else start
        self.button.label = PAUSE
        self.player.play(start, end, SPEEDS.get(self.speed.value, 1.0))

    def ended(self) -> None:
        """Reset the button at the end of the motion."""
        self.button.label = PLAY


def add_recorder(bench: Bench, button: "GuiButtonHandle", clock: Clock) -> None:
    """Make a button record the positions of the sliders until it is pressed again."""
    kept: list[tuple[float, Array]] = []

    def keep(state: State) -> None:
        if button.label == FINISH:
            kept.append((time.monotonic(), state.q))

    def press(_: Event) -> None:
        clock.player.stop()
        with bench.showing:  # keeps the samples in the order of their times
            if button.label == RECORD:
                kept.clear()
                button.label = FINISH
                keep(bench.state)
                return
            button.label = RECORD
            kept.append((time.monotonic(), bench.state.q))
        take(bench, bench.state.robot, recorded(bench.state.robot, kept))

    button.on_click(user_action(press))
    bench.refreshers.append(keep)


def add_downloads(bench: Bench) -> None:
    """Add the buttons that save the motion as a file."""
    gui = bench.server.gui

    def save(name: str, make: Callable[[Bench, Trajectory], bytes]) -> Callable[[Event], None]:
        def press(event: Event) -> None:
            if event.client is None:
                return
            if bench.trajectory is None:
                text = "Simulate, open or record a motion first."
                notify(event.client, "No motion yet", text, "yellow")
                return
            content = make(bench, bench.trajectory)
            event.client.send_file_download(name, content, save_immediately=True)

        return user_action(press)

    gui.add_button("Save the motion (CSV)").on_click(save("motion.csv", as_csv))
    gui.add_button("Save this session (one HTML file)").on_click(save("session.html", as_page))
