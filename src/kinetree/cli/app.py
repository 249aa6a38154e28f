"""The commands of `kinetree`, each a function of the same name in a module of its own.

A line names where a command lives; its module is imported when the command or the list of commands
is asked for. Such a module imports little by itself, and what it needs to work when it works.
"""

from cyclopts import App

from kinetree import __version__

app = App(
    name="kinetree",
    version=__version__,
    help="Robot dynamics: the Newton-Euler equations of chains and trees.",
)
app.command("kinetree.cli.demo:demo", name="demo")
app.command("kinetree.cli.identify:identify", name="identify")
app.command("kinetree.cli.cache:app", name="cache")
