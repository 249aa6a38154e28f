"""The declaration of a quantity: the one place for its name, letters, shapes, units and example.

    @quantity("q dq -> C: n n")
    def coriolis_matrix(tree: Tree, dq: Array) -> Array:
        ...

The decorator has the letters and shapes. The docstring has the title, "C: meaning [unit]." of each
result below "Returns:", and an example.

The function stays what it is. From the declaration come the function of a model and of labelled
arrays (`dynamics/plain.py`), the kernel and its help, the attribute of Robot and its types, the
header of exported code, the table of methods, and the cases of the tests.
"""

import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import cleandoc
from operator import index
from typing import Any, Literal, TypeVar

from kinetree.core.options import is_one_of
from kinetree.errors import InputError

# of the model, whether masses may be moved along its tree, the frame, and the choices that the
# quantity has; it returns the function of the arguments that is traced
Make = Callable[..., Callable[..., Any]]
Function = TypeVar("Function", bound=Callable[..., Any])
Over = Literal["tree", "frame", "model", "constraints"]


EXPRESSED = ("body", "space", "aligned")  # axes of a twist or task


@dataclass(frozen=True)
class Argument:
    """An argument of quantities: its meaning, the letters of its shape, its unit.

    `remark` follows in the help of Python, where the argument may be left out.
    """

    meaning: str
    dims: str
    unit: str
    remark: str = ""

    @property
    def text(self) -> str:
        """The entry in the help of a kernel."""
        return f"{self.meaning}, {shape_text(self.dims)}, {self.unit}{self.remark}."


# meaning, letters of the shape and unit of every argument
_ARGUMENTS = {
    "q": "joint positions | nq | rad or m",
    "dq": "joint rates | n | rad/s or m/s",
    "ddq": "joint accelerations | n | rad/s^2 or m/s^2",
    "dq_r": "reference rates | n | rad/s or m/s",
    "ddq_r": "rate of dq_r | n | rad/s^2 or m/s^2",
    "tau": "joint forces | n | N m or N",
    "F_ext": "wrenches (moment, force) from the world onto the links, each in its link's frame "
    "| l 6 | N m and N | ; `robot.wrenches` makes them. None: no wrench",
    "touching": "1 for each contact that touches, 0 for the others | c | dimensionless",
    "dt": "length of the step |  | s",
    "controls": "controls of the actuators | u | in their order",
    "activation": "activations of the actuators that have one | a | in their order",
    "kp": "-d tau/d q of each joint | n | N m/rad or N/m",
    "kd": "-d tau/d dq of each joint | n | N m s/rad or N s/m",
    "mass": "masses of the links | l | kg",
    "com": "centres of mass in the link frames | l 3 | m",
    "inertia": "inertias about the centres of mass, in the axes of the link frames | l 3 3 "
    "| kg m^2",
    "gravity": "acceleration of free fall in the space frame | 3 | m/s^2",
    "friction": "viscous for dq > 0 and dq < 0, Coulomb for dq > 0 and dq < 0 of each joint | l 4 "
    "| N m s/rad or N s/m, and N m or N",
    "springs": "stiffness and rest position of each spring | s 2 | N m/rad or N/m, and rad or m",
    "contact_friction": "coefficient of friction of each contact | c | dimensionless",
    "restitution": "restitution of each contact, 0 to 1 | c | dimensionless",
    "ground": "numbers of the ground in the order of its record | g | m, rad or 1",
}
ARGUMENTS = {name: Argument(*text.split(" | ")) for name, text in _ARGUMENTS.items()}


@dataclass(frozen=True)
class Result:
    """A result of a quantity: its letter, the letters of its shape, its meaning and its unit."""

    letter: str
    dims: str
    meaning: str
    unit: str

    @property
    def text(self) -> str:
        """The entry in the help of a kernel."""
        return f"{self.letter}: {self.meaning}, {shape_text(self.dims)}, {self.unit}."

    @property
    def axes(self) -> tuple[str, ...]:
        """The letters of its shape, one for each axis."""
        return tuple(self.dims.split())


@dataclass(frozen=True, eq=False)
class Quantity:
    """A quantity that can be compiled.

    Args:
        name: of the function, the attribute of Robot and the kernel.
        inputs: names of ARGUMENTS in their order, without F_ext.
        results: one, or several.
        title: the first line of its help: a noun phrase, and the equation.
        example: lines of a session; `robot` is `planar_2r` if they do not make it.
        function: what computes it, see `over`; None: only `make` does.
        make: `make(model, regrouped, frame, **choices)` returns the function of the arguments that
            is traced. `regrouped` allows masses to be moved along the tree where the result does
            not depend on it. None: the one that `over` decides.
        remarks: further paragraphs of its help.
        over: the first arguments of the function. "tree": the Tree at q; "frame": the Tree and the
            frame; "constraints": the Tree, the constraints and q; "model": the model, and q among
            the others. The remaining `inputs` follow.
        whole: masses stay on their own links, because the result is not only about joint forces.
        wrenches: F_ext may follow as a further argument.
        solves: it needs a mass matrix that is not singular.
        choices: of "expressed" and "rows": further options of `make`.
        weighs: it depends on gravity.
        slope_of: a quantity and some arguments of it, of which this is the derivative.
        step: it is composed of the graphs of a step, see engine/kernels/step.py.
        method: it is an attribute of Robot; else a method with further arguments is written there.
        refused: why a robot with constraints does not have it, and the way out.
        instead: kernels honour constraints; the function of a model says to use this instead.
        caution: what its results mean for a robot with constraints, in exported code.
    """

    name: str
    inputs: tuple[str, ...]
    results: tuple[Result, ...]
    title: str
    example: str
    function: Any
    make: Make | None = None
    remarks: tuple[str, ...] = ()
    over: Over = "tree"
    whole: bool = False
    wrenches: bool = False
    solves: bool = False
    choices: tuple[str, ...] = ()
    weighs: bool = False
    slope_of: tuple[str, tuple[str, ...]] | None = None
    step: bool = False
    method: bool = True
    refused: str = ""
    instead: str = ""
    caution: str = ""

    @property
    def framed(self) -> bool:
        """Whether it is a quantity of a frame."""
        return self.over == "frame"

    @property
    def outputs(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Name in a graph and letters of the shape of each result; a single one has our name."""
        if len(self.results) == 1:
            return ((self.name, self.results[0].axes),)
        return tuple((result.letter, result.axes) for result in self.results)

    @property
    def letters(self) -> set[str]:
        """Letters of the shapes of its arguments and results: "m" is of constraints, and so on."""
        dims = [*(ARGUMENTS[x].dims for x in self.inputs), *(x.dims for x in self.results)]
        return set(" ".join(dims).split())


DECLARED: dict[str, Quantity] = {}  # of the files that were imported; `dynamics.quantities` has all
AT_STATE: dict[str, Callable[..., Any]] = {}  # functions of a model that are written by hand


def quantity(signature: str, **options: Any) -> Callable[[Function], Function]:
    """Declare the quantity that a function computes; the function itself is returned.

    Args:
        signature: names of its arguments and letters of its results with their shapes, such as
            "q dq -> C: n n" or "q -> T_si: l 4 4" or, of several, "q dq -> y_T: p, y_U: p".
        options: fields of `Quantity`.
    """
    left, _, right = signature.partition("->")

    def declare(function: Function) -> Function:
        title, remarks, texts, example = _read_docstring(function.__doc__ or "")
        results = [[part.strip() for part in x.partition(":")[::2]] for x in right.split(",")]
        DECLARED[function.__name__] = Quantity(
            name=function.__name__,
            inputs=tuple(left.split()),
            results=tuple(Result(letter, dims, *texts[letter]) for letter, dims in results),
            title=title,
            remarks=remarks,
            example=example,
            function=function,
            **options,
        )
        return function

    return declare


def at_state(function: Callable[..., Any]) -> Callable[[Function], Function]:
    """Declare the function of a model and one state, where a quantity needs one of its own."""

    def declare(by_hand: Function) -> Function:
        AT_STATE[function.__name__] = by_hand
        return by_hand

    return declare


RESULT = re.compile(r"^ {4}(\w+): (.*?) \[(.*?)\]\.$", re.MULTILINE)  # letter, meaning, unit


def _read_docstring(text: str) -> tuple[str, tuple[str, ...], dict[str, tuple[str, str]], str]:
    """Title, further paragraphs, meaning and unit of each result, and the lines of the example."""
    about, _, example = cleandoc(text).partition("Example:\n")
    about, _, returns = about.partition("Returns:\n")
    title, *remarks = (" ".join(part.split()) for part in about.strip().split("\n\n"))
    texts = {
        x: (meaning, unit) for x, meaning, unit in RESULT.findall(re.sub(r"\n {8}", " ", returns))
    }
    return title, tuple(remarks), texts, textwrap.dedent(example)


def shape_text(dims: str) -> str:
    """A shape in the help: the letters of the axes, after any leading ones."""
    return f"shape ({', '.join(['...', *dims.split()])})"


def check_expressed(expressed: str, choices: Sequence[str] = EXPRESSED) -> None:
    """Raise InputError for axes that are not one of the choices."""
    if not is_one_of(expressed, choices):
        raise InputError(f"expressed is {expressed!r:.60}; expected one of {', '.join(choices)}.")


def task_rows(rows: Sequence[int] | None) -> list[int]:
    """Check the coordinates of a task: each of the six at most once; None is all six."""
    try:
        given = range(6) if rows is None else rows
        chosen = [-1 if isinstance(k, bool) else index(k) for k in given]  # truth is no number
    except TypeError:
        chosen = list[int]()
    if not chosen or len({*chosen}) < len(chosen) or not {*chosen} <= {*range(6)}:
        raise InputError(
            f"rows are {rows!r:.60}; expected some of 0, 1, 2 (angular), 3, 4, 5 (linear), "
            "whole numbers, each once."
        )
    return chosen
