"""Standard output as rich prints it: colours, folded cells, and names with escapes."""

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from kinetree.errors import visible


class Terminal(Console):
    """A console of rich that shows control characters of names as escapes.

    Names come from files of others: a control character could move the cursor or hide text.
    """

    def print(self, *objects: Any, **options: Any) -> None:
        """Print as rich does. Texts are escaped before rich removes some characters from them."""
        super().print(*(visible(x) if isinstance(x, str) else x for x in objects), **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Render as rich does, with escapes in the texts of tables and other renderables."""
        for segment in super().render(renderable, options):
            text = segment.text if segment.control else visible(segment.text)
            yield segment if text == segment.text else Segment(text, segment.style)
