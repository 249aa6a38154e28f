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
app.command("kinetree.cli.info:info", name="info")
app.command("kinetree.cli.id:inverse_dynamics", name="id")
app.command("kinetree.cli.fd:forward_dynamics", name="fd")
app.command("kinetree.cli.terms:terms", name="terms")
app.command("kinetree.cli.explain:explain", name="explain")
app.command("kinetree.cli.equations:equations", name="equations")
app.command("kinetree.cli.export:export", name="export")
app.command("kinetree.cli.simulate:simulate", name="simulate")
app.command("kinetree.cli.check:check", name="check")
app.command("kinetree.cli.identify:identify", name="identify")
app.command("kinetree.cli.cache:app", name="cache")
