"""Messages on stderr: the library's words as the command line's, the suggestion first, wrapped.

Errors and warnings of the library name its remedies in Python (`limits="record"`); a user of the
command line types `--limits record`. The change is made here, at the border: PHRASES has the
sentences that differ, and OPTIONS the arguments of Python that are options here.

A message is one paragraph. On a terminal it is wrapped between words, and the word in front is
coloured: red for an error, yellow for a warning. Programs that read stderr get one line without
colours.
"""

import re
import sys
import textwrap
from collections.abc import Sequence

from kinetree.errors import visible

ERROR, WARNING = "red", "yellow"
MAX_ITEMS = 4  # of a list of losses

# what the library says, and what it says to a user of the command line; (...) keeps a part
PHRASES: dict[str, str] = {
    r"in folders= of kt\.load \(--folder on the command line\)": "with --folder",
    r"Choose one by its name \(model= in Python, --model on the command line\)":
        "Choose one with --model NAME",
    r"in arguments= of kt\.load \(--arg ([^ ]+):=VALUE on the command line\)":
        r"with --arg \1:=VALUE",
    r"environment=True of kt\.load \(--environment on the command line\)": "--environment",
    r"read the file with mimic=False": "add --no-mimic",
    r"and strict=True:": "and --strict refuses them:",
    r"\(and (\d+) more, see robot\.report\)": r"(and \1 more; kinetree info lists them)",
    r" \(in Python, \w+(='\w+')?\)": "",
    r"robot\.unconstrained\(\) is the tree \(on the command line, --constraints none\)":
        "--constraints none makes all joints independent",
    r"robot\.project\(q0\) gives a position near it that does":
        "Name fewer joints, as in --q NAME=VALUE, and the others follow",
    r"robot\.project_rates\(q0, dq0\) gives the nearest rates that do not":
        "Name fewer joints, as in --dq NAME=VALUE, and the others follow",
    r"Take ddq from constrained_forward_dynamics, or from independent rates by reduced_dynamics":
        "Name fewer joints, as in --ddq NAME=VALUE, and the others follow",
    r"robot\.project\(q, keep=\[\.\.\.\]\) closes a position":
        "Name fewer joints, as in --to NAME=VALUE, and the others follow; positions of a file must "
        "satisfy the constraints",
    r"robot\.constrained\(\{\}, actuated=\[\.\.\.\]\) names more motors; PD and PID without "
    r"gravity need none of the robot's dynamics":
        "--controller pd needs no terms of the robot's dynamics",
    r"; choose others with robot\.constrained\(\.\.\., actuated=\[\.\.\.\]\)": "",
    r"^q0 does not satisfy": "--q does not satisfy",
    r"^dq0 breaks": "--dq breaks",
    r"Use friction that grows with the rate alone: robot\.with_friction\(.* for each of the others":
        "Leave it out: --friction none",
    r"expected friction that is smooth: robot\.with_friction\(.*":
        "expected friction that is smooth, or --friction none.",
    r"^actuated names ": "--actuated names ",
    r"^(duration|dt|tolerance|cutoff|prior|size|fps|speed|zoom|time) is ": r"--\1 is ",
    r"^add and hide both name ": "--add and --hide both name ",
    r"^time needs a trajectory": "--time needs TRAJECTORY",
    r"^q and the trajectory both ": "--q and TRAJECTORY both ",
    r", so no kernel can be made for it; kinetree\.algorithms computes its quantities": "",
    r"kt\.load\(path, floating=True\) gives it a free joint, on the command line --floating":
        "--floating gives it a free joint",
    r" Lock it with robot\.lock, or cut the rest out with robot\.subtree\.":
        " Joints of several degrees of freedom cannot be checked or drawn over time.",
    r"; see model\.coordinate_names for the order of q and model\.dof_names for that of dq, ddq "
    r"and tau": "; kinetree info lists the joints in order",
    r'limits="record" goes on and lists every violation, limits="ignore" does not look\.':
        "--limits record goes on and lists every violation, --limits ignore does not look.",
    r"Describe dry friction as the robot's own \(with_friction\), make the law smooth about its "
    r"switch, or take method='rk4'": "Take --method rk4, or leave out friction: --friction none",
    r"Take a smaller dt or method='auto'": "Take a smaller --dt or --method auto",
    r"Give points instead: kt\.contacts\.ContactPoint\('heel', '(.*?)', \(x, y, z\)\)":
        r"--contacts \1:RADIUS is a sphere about its origin, m",
    r"load without contacts='file', then robot\.with_contacts\(\[names of links, of collision "
    r"shapes, or points\]\)":
        "--contacts with names of links or of collision shapes, or FRAME:RADIUS",
    r"Add points with robot\.with_contacts\(\[kt\.contacts\.ContactPoint\('tip', 'tool'\)\]\)":
        "--contacts FRAME:RADIUS is a sphere about the origin of a link or frame, m",
    r"robot\.with_contacts\(None\) gives the robot without contacts": "Or leave out --contacts",
    r"^q0 puts contact ": "--q puts contact ",
    r"robot\.on_ground\(q0\) raises the robot until it stands":
        "Leave the height of the base out of --q, and the robot stands on the ground",
    r"move the ground: robot\.with_contacts\(feet, ground\)": "move the ground: --ground z=NUMBER",
    r"meta\['contact_residual'\] has it over time": "--json has contact_residual over time",
    r"\(see degrees=True, --degrees\)": "(--degrees reads degrees)",
    r"\(see degrees=False\)": "(leave out --degrees)",
    r" To use the numbers nevertheless, pass unphysical='warn'\.": "",
    r" Pass losses='warn' to write the rest, with comments in these places\.": "",
    r"`kinetree\.identify\.excite` plans (one|a better one)":
        r"kinetree excite plans \1",
}  # fmt: skip
# arguments of Python functions that have an option of that name here
OPTIONS = (
    "limits", "method", "degrees", "strict", "floating", "mimic", "friction", "duration", "dt",
    "cutoff", "torque_cutoff", "hold_out", "armature", "prior", "tolerance", "effort", "velocity",
    "columns", "topic", "model", "offsets", "lag", "fps", "speed", "contacts",
)  # fmt: skip
ARGUMENT = re.compile(rf"\b({'|'.join(OPTIONS)})=(True|False|'[^']*'|\"[^\"]*\"|[\w.]+)")
UNIT = re.compile(r"(\d) (N m\b|N\b|rad|deg|m\b|m/s|s\b|kg|%)")
SUGGESTION = re.compile(r"\s*\(?\b([Dd]id you mean [^?]*\?)\)?")

# cyclopts' sentences about wrong usage, and ours
USAGE: dict[str, str] = {
    r'^Unknown command "(-[^"]*)".*$': r"there is no option \1; the command comes first.",
    r'^Unknown command "([^"]*)"\..*?(Did you mean "[^"]*"\?)?( Available commands: .*)?$':
        r"there is no command '\1'. \2",
    r"^Unknown option: (\S+?)\.": r"there is no option \1.",
    r"^Unused Tokens: \[(.*)\]\.?$": r"too many words: \1; expected none after the others.",
    r'^(?:Command "[^"]*" parameter )?"?(--?[\w-]+)"? requires an argument\.': r"\1 needs a value.",
    r'^(?:Command "[^"]*" parameter )?"?([A-Z_]+)"? requires an argument\.': r"\1 is missing.",
    r'^(?:Command "[^"]*" parameter )?"?(--[\w-]+)"? requires at least 1 element\. Got 0\.':
        r"\1 needs at least one value.",
    r'^Invalid value for (\S+): unable to convert "([^"]*)" into float\.':
        r"\1 is '\2'; expected a number.",
    r'^Invalid value for (\S+): unable to convert "([^"]*)" into int\.':
        r"\1 is '\2'; expected a whole number.",
    r'^Invalid value for (\S+): unable to convert "([^"]*)" into bool\.':
        r"\1 takes no value; leave '\2' out.",
    r'^Invalid value "([^"]*)" for (\S+)\. (Did you mean "[^"]*"\? )?Choose from: (.*)$':
        r"\2 is '\1'; expected one of \4 \3",
    r"^Parameter (\S+) specified multiple times\.": r"\1 is given twice; expected it once.",
}  # fmt: skip


def translate(text: str) -> str:
    """The library's message for a user of the command line, without Python syntax."""
    for phrase, ours in PHRASES.items():
        text = re.sub(phrase, ours, text)
    return ARGUMENT.sub(_option, text)


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


def shorten(text: str) -> str:
    """A warning about losses in a written file with its first items; the file names all of them."""
    start, colon, rest = text.partition(": ")
    items, _, end = rest.partition(". Comments in the file")
    listed = items.split("; ")
    if "cannot represent all of" not in start or len(listed) <= MAX_ITEMS:
        return text
    some = re.sub(r"\d+\.\d{7,}", lambda x: f"{float(x[0]):.6g}", "; ".join(listed[:MAX_ITEMS]))
    return f"{start}{colon}{some}; and {len(listed) - MAX_ITEMS} more. Comments in the file{end}"


def _option(match: re.Match[str]) -> str:
    """An argument of Python as an option: --strict, --no-mimic, --limits record."""
    name, value = match[1].replace("_", "-"), match[2].strip("'\"")
    if value in ("True", "False"):
        return f"--{name}" if value == "True" else f"--no-{name}"
    return f"--{name} {value}"


def suggestion_first(text: str) -> str:
    """The message with its "Did you mean ...?" in front of the rest."""
    suggestion = SUGGESTION.search(text)
    if suggestion is None or suggestion.start() == 0:
        return text
    rest = f"{text[: suggestion.start()]}{text[suggestion.end() :]}".strip()
    if rest.partition(" ")[0].isalpha():  # a word, not the name of a file or an option
        rest = f"{rest[0].upper()}{rest[1:]}"
    return f"{suggestion[1][0].upper()}{suggestion[1][1:]} {rest}".rstrip()


def plain_usage(text: str) -> str:
    """A message of the parser in the program's own words."""
    text = " ".join(text.split())
    for theirs, ours in USAGE.items():
        changed = re.sub(theirs, ours, text)
        if changed != text:
            return " ".join(changed.replace('"', "'").split())
    return text


def wrapped(text: str, width: int, indent: str = "") -> str:
    """The text in lines of that width, broken between words and never before a unit."""
    text = UNIT.sub("\\1\u00a0\\2", text)  # a space at which lines are not broken
    lines = textwrap.wrap(
        text, width, break_long_words=False, break_on_hyphens=False, subsequent_indent=indent
    )
    return "\n".join(lines).replace("\u00a0", " ")


def notify_of_library(text: str, style: str = "") -> None:
    """Print a message of the library on stderr, in the words of the command line."""
    notify(shorten(translate(text)), style)


def notify(text: str, style: str = "") -> None:
    """Print a message for the user on stderr, as one paragraph that begins with the program."""
    text = f"kinetree: {' '.join(visible(text).split())}"
    if not sys.stderr.isatty():
        print(text, file=sys.stderr)
        return
    from rich.console import Console
    from rich.text import Text

    screen = Console(stderr=True, highlight=False)
    shown = Text(wrapped(text, screen.width))
    shown.stylize(style, 0, len("kinetree:"))
    screen.print(shown, soft_wrap=True)
