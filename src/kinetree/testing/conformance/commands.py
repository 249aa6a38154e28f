"""The command line as a user starts it: output, exit codes, and errors without a traceback.

Tables are compared word by word, so that the width of columns may change but not their order.
"""

import json
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from kinetree.testing.conformance import processes
from kinetree.testing.conformance.record import Choice, Finding, compared, equal, skipped

STATE = "--q 0.5 0.7 --dq 0.1 0.2"
# one motion in radians and in degrees
EXERCISE = "--q 1.5707963267948966 0.7853981633974483 --dq=-0.8,0.35 --ddq=-0.4,0.1"
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
}
JSON = f"id planar_2r {STATE} --ddq 0 0 --json"
TAU = [284.8968083532591, 27.06490528699294]  # every bit
MOTION = "simulate planar_2r --q 0.5 0.7 --duration 0.05 --dt 0.01 -o motion.csv"
CSV_HEAD = "t,q:joint1,q:joint2,dq:joint1,dq:joint2,ddq:joint1,ddq:joint2,tau:joint1,tau:joint2"

# wrong commands, and how the message on stderr begins
ERRORS = {
    "id nosuch": "kinetree: there is no robot 'nosuch'",
    "id planar_2r --q 1": "kinetree: --q has 1 number; 'planar 2R' needs 2",
    "info broken.urdf": "kinetree: ",
}
BROKEN = "<robot name='broken'><link name='a'>"


def words(text: str) -> list[str]:
    """Return the lines of a table with single spaces, without the lines that are drawn."""
    plain = (" ".join(re.sub("[^\x21-\x7e]", " ", line).split()) for line in text.splitlines())
    return [line for line in plain if line]


def checked(line: str, found: object, expected: object, ended: processes.Ended) -> Finding:
    """Return the finding about the output of a command that should end with code 0."""
    title = f"kinetree {line}: output"
    return compared(title, ended.code == 0 and found == expected, expected, found or ended.how)


def run(folder: str, line: str) -> processes.Ended:
    """Run a command of kinetree in a folder."""
    return processes.run(["-m", "kinetree", *line.split()], folder)


def command_line(_: Choice) -> Iterator[Finding]:
    """Check tables, numbers in full precision, and messages about wrong commands."""
    if not processes.available():
        yield skipped("command line", "this Python starts no processes")
        return
    with tempfile.TemporaryDirectory() as folder:
        ended = run(folder, "--version")
        version = str(getattr(sys.modules["kinetree"], "__version__", ""))
        yield checked("--version", ended.out.strip(), version, ended)
        for line, text in TABLES.items():
            ended = run(folder, line)
            yield checked(line, "\n".join(words(ended.out)), "\n".join(words(text)), ended)
        ended = run(folder, JSON)
        try:
            tau: object = json.loads(ended.out)["tau"]
        except (ValueError, KeyError, TypeError):
            tau = ended.out
        yield checked(JSON, tau, TAU, ended)
        ended, path = run(folder, MOTION), Path(folder) / "motion.csv"
        rows = path.read_text(encoding="utf-8").split() if path.is_file() else ["no file"]
        yield checked(MOTION, (rows[0], len(rows)), (CSV_HEAD, 7), ended)
        for more, code in (("", 0), (" --velocity 0.001", 1)):
            line = f"check planar_2r motion.csv{more}"
            ended = run(folder, line)
            yield compared(f"kinetree {line}: exit code", ended.code == code, code, ended.how)
        (Path(folder) / "broken.urdf").write_text(BROKEN, encoding="utf-8", newline="\n")
        for line, beginning in ERRORS.items():
            ended = run(folder, line)
            text = ended.err.strip()
            one = text.startswith(beginning) and "\n" not in text and "Traceback" not in text
            yield compared(f"kinetree {line}: message", one, f"{beginning} ...", text)
            yield equal(f"kinetree {line}: code and output", (2, ""), (ended.code, ended.out))


PARTS = (command_line,)
