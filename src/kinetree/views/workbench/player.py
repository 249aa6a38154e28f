"""Playing a motion: a clock in a thread of its own that sets the state."""

import threading
import time
from collections.abc import Callable

FRAMES = 20  # a second
NAME = "kinetree player"  # of its thread


class Player:
    """Calls `step(time)` while it plays, from a start on, at a speed, until the end.

    Speed 1 is real time. Frames that would come too late are left out.
    """

    def __init__(self, step: Callable[[float], None], ended: Callable[[], None]) -> None:
        self._step, self._ended = step, ended
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._turn = threading.RLock()  # two who play at once leave one clock running

    @property
    def playing(self) -> bool:
        """Whether the clock runs."""
        return self._thread is not None and self._thread.is_alive()

    def play(self, start: float, end: float, speed: float) -> None:
        """Run the clock from `start` to `end`."""
        with self._turn:
            self.stop()
            stop = self._stop = threading.Event()
            times = (stop, start, end, speed)
            run = threading.Thread(target=self._run, args=times, name=NAME, daemon=True)
            self._thread = run
            run.start()

    def stop(self) -> None:
        """Stop the clock, and wait for the frame under way."""
        self._stop.set()  # at once, also for a run that is waited for
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
            if self._thread is threading.current_thread():  # else it plays again already
                self._thread = None
            self._ended()
