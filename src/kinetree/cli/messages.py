"""Messages on stderr: one paragraph each."""

import re
import sys
import textwrap
from collections.abc import Sequence

from kinetree.errors import visible

ERROR, WARNING = "red", "yellow"
MAX_ITEMS = 4  # of a list of losses
UNIT = re.compile(r"(\d) (N m\b|N\b|rad|deg|m\b|m/s|s\b|kg|%)")


def notify_missing(remarks: Sequence[str]) -> None:
    """Report on stderr the visuals of a file that are not drawn, such as missing meshes."""
    if remarks:
        some = "; ".join(remarks[:MAX_ITEMS])
        more = f"; and {len(remarks) - MAX_ITEMS} more" if len(remarks) > MAX_ITEMS else ""
        count = "1 visual is" if len(remarks) == 1 else f"{len(remarks)} visuals are"
        notify(
            f"{count} not drawn: {some}{more}. Give the folder of the meshes with --folder.",
            WARNING,
        )


def wrapped(text: str, width: int, indent: str = "") -> str:
    """The text in lines of that width, broken between words and never before a unit."""
    text = UNIT.sub("\\1\0\\2", text)  # a space at which lines are not broken
    lines = textwrap.wrap(
        text, width, break_long_words=False, break_on_hyphens=False, subsequent_indent=indent
    )
    return "\n".join(lines).replace("\0", " ")


def notify(text: str, style: str = "") -> None:
    """Print a message for the user on stderr, as one paragraph that begins with the program."""
    text = f"kinetree: {visible(text, kept='').strip()}"
    if not sys.stderr.isatty():
        print(text, file=sys.stderr)
        return
    from rich.console import Console
    from rich.text import Text

    screen = Console(stderr=True, highlight=False)
    shown = Text(wrapped(text, screen.width))
    shown.stylize(style, 0, len("kinetree:"))
    screen.print(shown, soft_wrap=True)
