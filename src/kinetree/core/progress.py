"""A progress bar for long runs: hidden for the first second, then drawn on the error stream."""

import sys
import time
from types import TracebackType
from typing import Any, Self

from kinetree.errors import visible

BAR_DELAY_S = 1.0  # before a bar appears that was not asked for
spinners: list[Any] = []  # displays on the error stream that give way to a bar
SECONDS = "{task.completed:.3g} of {task.total:.3g} s"


class Progress:
    """A progress bar, shown on request, or by default if the error stream is a terminal.

    what: the work, in words. total: its amount. shown: True, False, or None for the default. count:
    rich's format of the amount that is done.
    """

    def __init__(self, what: str, total: float, shown: bool | None, count: str = SECONDS) -> None:
        self.what, self.total, self.shown, self.count = what, total, shown, count
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

    def update(self, done: float) -> None:
        """Set the amount that is done."""
        bar = self._bar
        if bar is None:
            wanted = sys.stderr.isatty() if self.shown is None else self.shown
            late = time.monotonic() - self._began > BAR_DELAY_S
            if not wanted or not (late or self.shown):
                return
            bar = self._open()
        bar.update(self._task, completed=done)

    def _open(self) -> Any:
        from rich.console import Console
        from rich.markup import escape
        from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        for spinner in spinners:  # two displays would write into each other's lines
            spinner.stop()
        words, count = TextColumn("{task.description}"), TextColumn(self.count)
        columns = (words, BarColumn(), count, TimeRemainingColumn())
        # a bar that was asked for stays as a line at the end, others disappear
        self._bar = Bar(*columns, console=Console(stderr=True), transient=self.shown is None)
        self._task = self._bar.add_task(escape(visible(self.what)), total=self.total)
        self._bar.start()
        return self._bar
