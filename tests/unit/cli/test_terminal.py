"""The terminal obeys no character of a name."""

import io

from rich.table import Table
from rich.text import Text

from kinetree.cli.terminal import Terminal


def obeyed(text):
    """Characters of a text that a terminal would obey or hide, except ends of our own lines."""
    return sorted({c for c in text if not c.isprintable() and c != "\n"})


def test_the_console_escapes_every_renderable():
    hostile = "\x1b[31mred\x07\u202e"
    table = Table(title=hostile)
    table.add_column(hostile)
    table.add_row(Text(hostile), style="bold")
    for drawn in (hostile, Text(hostile, style="red"), table):
        file = io.StringIO()
        Terminal(file=file, width=80, color_system=None, markup=False).print(drawn)
        assert not obeyed(file.getvalue()) and "\\x1b[31mred" in file.getvalue()
    file = io.StringIO()
    Terminal(file=file, width=80, force_terminal=True, color_system="standard").print(
        Text(hostile, style="bold red")
    )
    assert file.getvalue().count("\x1b") == 2  # its own, at the start and the end
    file = io.StringIO()
    with Terminal(file=file, width=80, force_terminal=True).status(hostile) as status:
        status.update(Text(hostile))
    assert "\x07" not in file.getvalue() and "\u202e" not in file.getvalue()
