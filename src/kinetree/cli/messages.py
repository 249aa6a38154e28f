"""Messages on stderr: the library's remedies as options of the command line, wrapped.

Errors and warnings of the library name its remedies in Python (`limits="record"`); a user of the
command line types `--limits record`. The change is made here, at the border: PHRASES has the words
of the library that differ. What the user typed, names of a robot and
names in quotes are never changed.

A message is one paragraph. On a terminal it is wrapped between words, and the word in front is
coloured: red for an error, yellow for a warning. Programs that read stderr get one line without
colours.
"""

import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args, get_origin

from kinetree.cli.arguments import STREAM
from kinetree.core.tables import nearest
from kinetree.errors import visible

if TYPE_CHECKING:
    from cyclopts import CoercionError, CycloptsError, MissingArgumentError, Token

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
    r" and strict=True: ": " and --strict refuses them: ",
    r"\(and (\d+) more, see robot\.report\)": r"(and \1 more; kinetree info lists them)",
    r" \(in Python, \w+(=True|='\w+')?\)": "",
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
    r"Use friction that grows with the rate alone: robot\.with_friction\(.*? for each of the "
    r"others":
        "Leave it out: --friction none",
    r"expected friction that is smooth: robot\.with_friction\(.*":
        "expected friction that is smooth, or --friction none.",
    r"^actuated names ": "--actuated names ",
    r"^(duration|dt|tolerance|cutoff|prior|size|fps|speed|zoom|time) is ": r"--\1 is ",
    r"^add and hide both name ": "--add and --hide both name ",
    r"^time needs a trajectory": "--time needs TRAJECTORY",
    r"^q and the trajectory both ": "--q and TRAJECTORY both ",
    r", so no kernel can be made for it; kinetree\.dynamics computes its quantities": "",
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
    r"degrees=True, --degrees": "--degrees",
    r"\(see degrees=False\)": "(leave out --degrees)",
    r" To use the numbers nevertheless, pass unphysical='warn'\.": "",
    r" Pass losses='warn' to write the rest, with comments in these places\.": "",
    r"Load it with floating=True": "Load it with --floating",
    r"that can leave its place with floating=True": "that can leave its place with --floating",
    r"without collision shapes; contacts='file' needs a file":
        "without collision shapes; --contacts file needs a file",
    r"differs by direction: offsets=True or friction='directional' finds it":
        "differs by direction: --offsets or --friction directional finds it",
    r"does the sensor have an offset\? offsets=True finds it":
        "does the sensor have an offset? --offsets finds it",
    r"are off by as much\. offsets=True allows for it":
        "are off by as much. --offsets allows for it",
    r"offsets=True states the first, offsets=False the second":
        "--offsets states the first, --no-offsets the second",
    r"there is no fastest motion\. Give effort=\.\.\., a number":
        "there is no fastest motion. Give --effort, a number",
    r"give duration=\.\.\., effort=\.\.\. or velocity=\.\.\.":
        "give --duration, --effort or --velocity",
    r"for stability alone; method='auto' takes longer ones":
        "for stability alone; --method auto takes longer ones",
    r"Let the curve end at zero force, or take method='rk4'":
        "Let the curve end at zero force, or take --method rk4",
    r"frames per second \(fps=10\) or a larger speed \(speed=10\)":
        "frames per second (--fps 10) or a larger speed (--speed 10)",
    r"`kinetree\.identify\.excite` plans (one|a better one)":
        r"kinetree excite plans \1",
}  # fmt: skip
UNIT = re.compile(r"(\d) (N m\b|N\b|rad|deg|m\b|m/s|s\b|kg|%)")
NAMES: set[str] = set()  # of the robots that were loaded
QUOTED = re.compile(r"""(?<![\w=])(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")(?!\w)""")  # a name


def translate(text: str) -> str:
    """The library's message for a user of the command line, without Python syntax."""
    for phrase, ours in PHRASES.items():
        text = _replaced(phrase, ours, text)
    return text


def _replaced(pattern: str, new: str | Callable[[re.Match[str]], str], text: str) -> str:
    """`text` with matches replaced, but none that begins or ends in a name of the user."""
    names = list(_user_words(text)) if re.search(pattern, text) else []

    def change(match: re.Match[str]) -> str:
        if any(a <= match.start() < b or a < match.end() <= b for a, b in names):
            return match[0]
        return match.expand(new) if isinstance(new, str) else new(match)

    return re.sub(pattern, change, text)


def _user_words(text: str) -> Iterator[tuple[int, int]]:
    """Where words that the user typed, names of the robot, and names in quotes begin and end."""
    yield from (x.span() for x in QUOTED.finditer(text))
    typed = {part for word in sys.argv[1:] for part in (word, word.partition("=")[2])}
    for word in NAMES | typed | {Path(x).name for x in typed}:
        if word:
            yield from (
                x.span() for x in re.finditer(rf"(?<!\w){re.escape(visible(word))}(?!\w)", text)
            )


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
    shown = "; ".join(listed[:MAX_ITEMS])
    some = _replaced(r"\d+\.\d{7,}", lambda x: f"{float(x[0]):.6g}", shown)
    return f"{start}{colon}{some}; and {len(listed) - MAX_ITEMS} more. Comments in the file{end}"


def usage_fault(error: "CycloptsError") -> str:
    """What is wrong with the words that the parser refuses."""
    import cyclopts

    unused = [_typed(x) for x in error.unused_tokens or ()]
    match error:
        case cyclopts.UnknownCommandError():
            return _unknown_command(error, unused[0])
        case cyclopts.UnknownOptionError():
            value = _typed(error.token.keyword or error.token.value)
            known = [name for x in error.argument_collection for name in x.names]
            return f"there is no option {value}.{nearest(value, known)}"
        case cyclopts.UnusedCliTokensError():
            listed = ", ".join(map(repr, unused))
            return f"too many words: {listed}; expected none after the others."
        case cyclopts.RepeatArgumentError():
            return f"{error.token.keyword} is given twice; expected it once."
        case cyclopts.MissingArgumentError():
            return _missing(error)
        case cyclopts.CoercionError() if error.token and error.target_type and not error.msg:
            return _unreadable(error, error.token, error.target_type)
        case _:
            return " ".join(str(error).splitlines())


def _typed(word: str) -> str:
    """A word as the user typed it."""
    return word.replace(STREAM, "-")


def _unknown_command(error: "CycloptsError", word: str) -> str:
    if word.startswith("-"):
        return f"there is no option {word}; the command comes first."
    return f"there is no command {word!r}.{nearest(word, error.app or ())}"


def _missing(error: "MissingArgumentError") -> str:
    from cyclopts import ConsumeMultipleError

    argument = error.argument
    keywords = [x.keyword for x in argument.tokens if x.keyword] if argument else []
    name = error.keyword or (keywords or [argument.name if argument else ""])[-1]
    if not name.startswith("-"):
        return f"{name} is missing."
    if isinstance(error, ConsumeMultipleError):
        return f"{name} needs at least one value."
    count = argument.token_count()[0] if argument else 1
    return f"{name} needs a value." if count == 1 else f"{name} needs {count} values."


EXPECTED: dict[type, str] = {int: "a whole number", float: "a number"}


def _unreadable(error: "CoercionError", token: "Token", kind: type) -> str:
    argument, value = error.argument, _typed(token.value)
    name = token.keyword or (argument.name.lstrip("-").upper() if argument else "a value")
    if kind is bool:
        return f"{name} takes no value; leave {value!r} out."
    choices = get_args(kind) if get_origin(kind) is Literal else ()
    if choices:
        listed = ", ".join(map(repr, choices))
        return f"{name} is {value!r}; expected one of {listed}.{nearest(value, choices)}"
    return f"{name} is {value!r}; expected {EXPECTED.get(kind, 'another value')}."


def wrapped(text: str, width: int, indent: str = "") -> str:
    """The text in lines of that width, broken between words and never before a unit."""
    text = UNIT.sub("\\1\0\\2", text)  # a space at which lines are not broken
    lines = textwrap.wrap(
        text, width, break_long_words=False, break_on_hyphens=False, subsequent_indent=indent
    )
    return "\n".join(lines).replace("\0", " ")


def notify_of_library(text: str, style: str = "") -> None:
    """Print a message of the library on stderr, in the words of the command line."""
    notify(shorten(translate(text)), style)


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
