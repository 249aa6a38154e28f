"""The command line as a user starts it: output, exit codes, and errors without a traceback.

Tables are compared word by word, so that the width of columns may change but not their order.
"""

import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from kinetree import robots
from kinetree.testing.conformance import processes
from kinetree.testing.conformance.record import Finding, compared, equal, skipped
from kinetree.write.code import export

STATE = "--q 0.5 0.7 --dq 0.1 0.2"
EXERCISE = "--q 1.5707963267948966 0.7853981633974483 --dq=-0.8,0.35 --ddq=-0.4,0.1"
# the same motion in degrees
DEGREES = (
    "--q 90 45 --dq=-45.83662361046586,20.053522829578813 "
    "--ddq=-22.91831180523293,5.729577951308232"
)

# command: the words of its output, line by line; lines that are drawn count as empty
TABLES = {
    f"id planar_2r {EXERCISE}": """
        planar 2R
        q dq ddq tau
        joint rad rad/s rad/s^2 N m
        joint1 1.5708 -0.8 -0.4 -65.0917
        joint2 0.785398 0.35 0.1 -52.4313
    """,
    f"id planar_2r --degrees {DEGREES}": """
        planar 2R
        q dq ddq tau
        joint deg deg/s deg/s^2 N m
        joint1 90 -45.8366 -22.9183 -65.0917
        joint2 45 20.0535 5.72958 -52.4313
    """,
    f"terms planar_2r {STATE}": """
        M: mass matrix, of planar 2R, kg m^2
        1 2
        1 joint1 39.866 9.1528
        2 joint2 9.1528 3.34
        C: Coriolis matrix, kg m^2/s
        1 2
        1 joint1 -0.97921 -1.4688
        2 joint2 0.48961 0
        joint forces
        c g
        C dq gravity friction
        joint N m N m N m
        joint1 -0.391684 285.288 0
        joint2 0.0489605 27.0159 0
    """,
    "fd cart_pole --q 0.1 0.2 --dq 0.3 0.4 --tau 1 0": """
        cart-pole
        joint q dq tau ddq
        slide 0.1 m 0.3 m/s 1 N 0.834213 m/s^2
        hinge 0.2 rad 0.4 rad/s 0 N m 3.39409 rad/s^2
    """,
}

# joints of the exercises: computed and printed forces, without and with gravity
DEMO = """
    2.1 2R joint1 4.3641 - 318.1937 -
    joint2 1.3955 - 38.6735 -
    2.2 2R joint1 -12.3727 -12.3727 -65.0917 -65.0917
    joint2 0.2878 0.2878 -52.4313 -52.4313
    3.1 RP joint1 4.0374 4.0374 217.9039 217.9039
    joint2 -0.0245 -0.0245 20.1068 20.1068
    3.2 RP joint1 -4.1276 -4.1276 -129.6956 -129.6956
    joint2 -2.5560 -2.5560 48.4183 48.4183
    4.1 3R joint1 5.1128 5.1128 5.1128 5.1128
    joint2 1.3712 1.3712 104.1829 104.1829
    joint3 0.1532 0.1532 6.7743 6.7743
"""

# wrong commands, and how the message on stderr begins
ERRORS = {
    "id nosuch": "kinetree: there is no robot 'nosuch'",
    "id planar_2r --q 1": "kinetree: --q has 1 number; 'planar 2R' needs 2",
    "id planar_2r --nosuch": "kinetree: there is no option --nosuch",
    "info broken.urdf": "kinetree: ",
}
BROKEN = "<robot name='broken'><link name='a'>"

CSV_HEAD = "t,q:joint1,q:joint2,dq:joint1,dq:joint2,ddq:joint1,ddq:joint2,tau:joint1,tau:joint2"
# state after 0.05 s: q, dq, ddq
CSV_END = (0.05, 0.4822843926786415, 0.738203377457868, -0.7029010829128957, 1.5031896808983574,
           -13.611416958031935, 28.103562431452353, 0.0, 0.0)  # fmt: skip
TAU = [284.8968083532591, 27.06490528699294]  # every bit


def run(folder: str, line: str) -> processes.Ended:
    """Run a command of kinetree in a folder."""
    return processes.run(["-m", "kinetree", *line.split()], folder)


def words(text: str) -> list[str]:
    """Return the lines of a table with single spaces, without the lines that are drawn."""
    plain = (" ".join(re.sub("[^\x21-\x7e]", " ", line).split()) for line in text.splitlines())
    return [line for line in plain if line]


def succeeded(line: str, ended: processes.Ended, code: int = 0) -> Finding:
    """Return the finding about the exit code of a command."""
    return compared(f"kinetree {line}: exit code", ended.code == code, code, ended.how)


def tables() -> Iterator[Finding]:
    """Check tables on the screen."""
    with tempfile.TemporaryDirectory() as folder:
        for line, text in TABLES.items():
            ended = run(folder, line)
            yield succeeded(line, ended)
            expected = words(text)
            yield compared(
                f"kinetree {line}: output", words(ended.out) == expected,
                "\n".join(expected), "\n".join(words(ended.out)),
            )  # fmt: skip
        ended = run(folder, "demo")
        yield succeeded("demo", ended)
        rows = words(ended.out)
        for row in words(DEMO):
            found = row if row in rows else "\n".join(x for x in rows if row.split()[0] in x)
            yield equal(f"kinetree demo: row {row.partition(' joint')[0]}", row, found)


def files() -> Iterator[Finding]:
    """Check numbers in full precision: JSON, CSV, code, and the verdict of a check of limits."""
    with tempfile.TemporaryDirectory() as folder:
        line = f"id planar_2r {STATE} --ddq 0 0 --json"
        ended = run(folder, line)
        yield succeeded(line, ended)
        try:
            found: object = json.loads(ended.out)["tau"]
        except (ValueError, KeyError, TypeError):
            found = ended.out
        yield equal(f"kinetree {line}: tau", TAU, found)
        line = "simulate planar_2r --q 0.5 0.7 --duration 0.05 --dt 0.01 -o motion.csv"
        yield succeeded(line, run(folder, line))
        yield from _motion(Path(folder) / "motion.csv")
        for more, code in (("", 0), (" --velocity 0.001", 1)):
            line = f"check planar_2r motion.csv{more}"
            yield succeeded(line, run(folder, line), code)
        line = "export planar_2r inverse_dynamics"
        ended = run(folder, line)
        yield succeeded(line, ended)
        same = words(ended.out) == words(export(robots.planar_2r(), "inverse_dynamics"))
        text = "the text of kinetree.export"
        yield equal(f"kinetree {line}: output", text, text if same else ended.out)


def _motion(path: Path) -> Iterator[Finding]:
    title = "kinetree simulate: file of the motion"
    if not path.is_file():
        yield equal(title, "motion.csv", "no file")
        return
    rows = path.read_text(encoding="utf-8").split()
    yield equal(f"{title}: columns", CSV_HEAD, rows[0] if rows else "")
    yield equal(f"{title}: rows", 7, len(rows))
    try:
        last = [float(x) for x in rows[-1].split(",")]
    except (ValueError, IndexError):
        last = []
    fine = len(last) == len(CSV_END) and all(
        abs(x - y) <= 1e-9 * max(1, abs(y)) for x, y in zip(last, CSV_END, strict=True)
    )
    yield compared(f"{title}: last row", fine, list(CSV_END), last)


def errors() -> Iterator[Finding]:
    """Check that wrong commands end with code 2 and one paragraph on stderr."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "broken.urdf").write_text(BROKEN, encoding="utf-8", newline="\n")
        for line, beginning in ERRORS.items():
            ended = run(folder, line)
            yield succeeded(line, ended, 2)
            text = ended.err.strip()
            one = text.startswith(beginning) and "\n" not in text and "Traceback" not in text
            yield compared(f"kinetree {line}: message", one, f"{beginning} ...", text)
            yield equal(f"kinetree {line}: output", "", ended.out)


def version() -> Iterator[Finding]:
    """Check that the command line is that of this kinetree."""
    with tempfile.TemporaryDirectory() as folder:
        ended = run(folder, "--version")
        own = str(getattr(sys.modules["kinetree"], "__version__", ""))
        yield equal("kinetree --version", own, ended.out.strip() or ended.how)


def unavailable() -> Iterator[Finding]:
    """Report that no command can be started."""
    yield skipped("command line", "this Python starts no processes")


PARTS: dict[str, Callable[[], Iterator[Finding]]] = (
    {"version": version, "tables": tables, "files": files, "errors": errors}
    if processes.available()
    else {"command line": unavailable}
)
