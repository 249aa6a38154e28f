"""The commands of `kinetree`, each a function of the same name in a module of its own.

A line names where a command lives; its module is imported when the command or the list of commands
is asked for. Such a module imports little by itself, and what it needs to work when it works.
"""

from cyclopts import App

from kinetree import __version__

ENDS = """ROBOT is a file (.urdf, .xacro, .xml) or a built-in robot: cart_pole, double_pendulum,
hand, humanoid, iiwa_14, panda, planar_2r, puma_560, quadruped, rp, scara, spatial_3r, ur5e.

Exit codes: 0 fine; 1 the verdict is negative (check: a limit is violated; simulate --limits stop: a
joint left its limits); 2 wrong usage, input or file, said in one paragraph on stderr; 130
interrupted; 141 the reader of the output went away."""

app = App(
    name="kinetree",
    version=__version__,
    help="Robot dynamics: the Newton-Euler equations of chains and trees.",
    help_epilogue=ENDS,
    suppress_keyboard_interrupt=False,
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
app.command("kinetree.cli.bench:bench", name="bench")
app.command("kinetree.cli.report:report", name="report")
app.command("kinetree.cli.view:view", name="view")
app.command("kinetree.cli.cache:app", name="cache")
app.command("kinetree.cli.completion:completion", name="completion")
