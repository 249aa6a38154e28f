"""Documentation of kernels: arguments and results with their shapes, units and frames.

`quantity_help` is the text of a quantity, from its declaration, as an attribute of Robot.
`kernel_help` is the text of a kernel, which may have further arguments, and names the robot. What
holds for all quantities is in the docstring of Robot, which both refer to.
"""

import textwrap
from collections.abc import Mapping, Sequence
from functools import partial

from kinetree.engine.compiler.graph import Graph
from kinetree.engine.kernels.request import Request
from kinetree.model import Model
from kinetree.model.quantity import ARGUMENTS, Quantity

WIDTH = 92  # of a docstring that is indented by eight
USUAL_ROBOT = "    >>> robot = kt.robots.planar_2r()"  # before an example that makes none

OPTIONS = {
    "out": "array for the result, a tuple of arrays for several; None: new arrays.",
    "options": "dtype, casting, order and axes of a NumPy ufunc.",
}
FRAME = "name of a link, a tool or a fixed frame of the robot; None: the tool."
EXPRESSED = (
    '"body": twist of the frame in its own axes; "space": in {s}, of the point at the origin of '
    '{s}; "aligned": of the origin of the frame, in the axes of {s}.'
)
SEE_ROBOT = "Names, batches and the letters of shapes: see `Robot`."
HONOURED = (
    "The constraints of this robot are honoured: M ddq + h = tau + J^T lambda and J ddq + gamma = "
    "0. tau is NaN where the motors cannot make the motion, as at a dead centre."
)
STEPPED = "q and dq must satisfy the constraints of this robot, otherwise the results are NaN."
OF_THE_TREE = "The constraints of this robot do not enter: this is the quantity of its tree."
SPARSE = (
    "Of these results the kernel returns one vector, values, shape (..., {size}): the numbers that "
    "this robot does not make zero, each once. `pattern.blocks` has their places in each result, "
    "and `pattern.dense(values)` makes the results."
)


def quantity_help(quantity: Quantity) -> str:
    """Return the documentation of a quantity as an attribute of Robot."""
    arguments = _arguments(quantity.inputs)
    if quantity.framed:
        arguments["frame"] = FRAME
        if quantity.choices:
            arguments["expressed"] = EXPRESSED
        return _text(quantity, arguments)
    if quantity.wrenches:
        arguments |= _arguments(["F_ext"])
    return _text(quantity, arguments | OPTIONS)


def kernel_help(quantity: Quantity, model: Model, graph: Graph, extra: str | None = None) -> str:
    """Return the documentation of a kernel, compiled for a robot; `extra`: a further argument."""
    arguments = [port.name for port in graph.inputs] + ([extra] if extra else [])
    parts = [_text(quantity, _arguments(arguments) | OPTIONS)]
    if model.constraints is not None and quantity.over != "constraints":
        from kinetree.dynamics.constraints.quantities import honours

        remark = HONOURED if honours(quantity) else OF_THE_TREE
        parts.append(textwrap.fill(STEPPED if quantity.step else remark, WIDTH))
    return "\n\n".join([*parts, _sizes(model)])


def derivative_help(request: Request, model: Model, graph: Graph) -> str:
    """Return the documentation of the kernel of a derivative, compiled for a robot."""
    wrt, second = request.wrt or (), request.order == 2
    arguments = _arguments([x.name for x in graph.inputs if x.name in ARGUMENTS])
    if second and graph.inputs[-1].name not in ARGUMENTS:
        arguments[graph.inputs[-1].name] = "weights of the result's numbers."
    results = [
        f"{x.name}: shape ({', '.join(['...', *map(str, x.shape)])})." for x in graph.outputs
    ]
    kind = "Second derivatives" if second else "Derivatives"
    along = "; q is moved along tangent vectors of `integrate`" if "q" in wrt else ""
    title = f"{kind} of {request.name} by {', '.join(wrt)}{along}."
    return f"{_sections(title, arguments | OPTIONS, results)}\n\n{_sizes(model)}"


def sparse_help(text: str, size: int) -> str:
    """Return the documentation of a kernel of which only values that may differ from 0 are left."""
    return f"{text}\n\n{textwrap.fill(SPARSE.format(size=size), WIDTH)}"


def _arguments(names: Sequence[str]) -> dict[str, str]:
    return {name: ARGUMENTS[name].text for name in names}


def _text(quantity: Quantity, arguments: Mapping[str, str]) -> str:
    example = textwrap.indent(quantity.example.strip(), "    ")
    if "robot = " not in example:
        example = f"{USUAL_ROBOT}\n{example}"
    results = [result.text for result in quantity.results]
    about = "\n\n".join([quantity.title, *quantity.remarks])
    return f"{_sections(about, arguments, results)}\n\nExample:\n{example}"


def _sections(title: str, arguments: Mapping[str, str], results: Sequence[str]) -> str:
    described = [f"{key}: {text}" for key, text in arguments.items()]
    parts = [
        *(textwrap.fill(x, WIDTH) for x in title.split("\n\n")),
        _entries("Args:", described),
        _entries("Returns:", results),
        SEE_ROBOT,
    ]
    return "\n\n".join(parts)


def _entries(title: str, entries: Sequence[str]) -> str:
    fill = partial(textwrap.fill, width=WIDTH, initial_indent=" " * 4, subsequent_indent=" " * 8)
    return "\n".join([title, *map(fill, entries)])


def _sizes(model: Model) -> str:
    sizes = f"n = {model.n}, nq = {model.nq}, l = {len(model.links)}"
    return f"This kernel is compiled for {model.name!r}: {sizes}."
