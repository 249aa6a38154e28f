"""A bar for runs that last: nothing for the first second, then rich's, on the error stream."""

import sys
import time
from types import TracebackType
from typing import Any, Self

PATIENCE = 1.0  # s


class Progress:
    """A bar over simulated time; shown on request, or by itself on a terminal.

    `shown` is True, False, or None for "where somebody watches".
    """

    def __init__(self, duration: float, shown: bool | None) -> None:
        self.duration, self.shown = duration, shown
        self._began = time.monotonic()
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, t: float) -> None:
        """The simulation has come to time t."""
        bar = self._bar
        if bar is None:
            wanted = sys.stderr.isatty() if self.shown is None else self.shown
            late = time.monotonic() - self._began > PATIENCE
            if not wanted or not (late or self.shown):
                return
            bar = self._open()
        bar.update(self._task, completed=t)

    def _open(self) -> Any:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        columns = (
            TextColumn("simulating"),
            BarColumn(),
            TextColumn("{task.completed:.3g} of {task.total:.3g} s"),
            TimeRemainingColumn(),
        )
        # asked for, it stays as a line; by itself, it leaves nothing behind
        self._bar = Bar(*columns, console=Console(stderr=True), transient=self.shown is None)
        self._task = self._bar.add_task("simulate", total=self.duration)
        self._bar.start()
        return self._bar
