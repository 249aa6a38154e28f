"""A bar over samples: nothing for the first second, then rich's, on the error stream."""

import sys
import time
from types import TracebackType
from typing import Any, Self

PATIENCE = 1.0  # s


class Progress:
    """Shown on request, or by itself on a terminal (`shown` None)."""

    def __init__(self, what: str, total: int, shown: bool | None) -> None:
        self.what, self.total = what, total
        self.wanted = sys.stderr.isatty() if shown is None else shown
        self.shown = shown
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

    def update(self, done: int) -> None:
        """So many samples are there."""
        late = time.monotonic() - self._began > PATIENCE
        if not self.wanted or not (late or self.shown):
            return
        bar = self._bar or self._open()
        bar.update(self._task, completed=done)

    def _open(self) -> Any:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        columns = (TextColumn(self.what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._bar = Bar(*columns, console=Console(stderr=True), transient=self.shown is None)
        self._task = self._bar.add_task(self.what, total=self.total)
        self._bar.start()
        return self._bar
