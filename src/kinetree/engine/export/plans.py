"""C for a problem of optimal control: one iteration of iLQR on a plan of fixed size.

The passes are the loops of `iterate.c`, around functions that are written from graphs: the slopes
of a stage and of the end, one step with its cost, the cost of the last state, and the tangent
vector between two states. The plan is a struct of the caller.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import Protocol, runtime_checkable

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.versions import __version__
from kinetree.engine.compiler.graph import Graph, Port
from kinetree.engine.export.c import function_text, rounding_guard
from kinetree.engine.export.firmware import (
    INCLUDES,
    CodeFigures,
    ExportedCode,
    facts,
    guarded,
    helper_names,
    helpers,
    target_statements,
)
from kinetree.engine.export.header import joint_table, plain
from kinetree.engine.export.names import check_distinct, check_target_name
from kinetree.engine.export.program import DTYPES, FLOAT, Program, c_literal
from kinetree.engine.export.self_test import comparison, limits, main, table
from kinetree.engine.export.targets import SIZES, Target, stack_bytes
from kinetree.errors import InputError
from kinetree.model import Model

TOLERANCE = {"double": 1e-9, "float": 1e-4}  # of a plan that has converged, at the start
# pull that releases a force from its limit, of the largest gradient
LEAST_PULL = {"double": 1e-13, "float": 1e-6}
# bytes of memory of microcontrollers with such a processor that are sold
MEMORY = {"cortex-m4f": 640 * 1024, "cortex-m7": 1024 * 1024}
FRAMES = 400  # bytes of the stack for registers and single variables of the passes
RESULTS = {
    "MOVED": "the plan is better",
    "CONVERGED": "no decrease of the cost is expected; K and k are new",
    "AGAIN": "no better step; mu is changed for the next call",
    "STALLED": "no better step for any mu, but the gradient is not small",
    "BAD_COST": "the cost of the plan is not a finite number",
    "BAD_STATE": "the state is not finite; nothing is changed",
}
DECLARED = """\
typedef struct {{
    {kind} x[{name}_N + 1][{name}_X]; /* states (q, dq) */
    {kind} u[{name}_N][{name}_M]; /* forces of the motors, N m or N */
    {kind} K[{name}_N][{name}_M][{name}_D]; /* feedback: du = K dx */
    {kind} k[{name}_N][{name}_M]; /* last change of the forces */
    {kind} gap[{name}_N][{name}_D]; /* what a step missed the next state by */
    {kind} p[{name}_N + 1][{name}_P]; /* time, weights and targets */
#if {name}_LIMITED
    {kind} low[{name}_M]; /* limits of the forces */
    {kind} high[{name}_M];
#endif
    {kind} mu; /* regularisation */
    {kind} tolerance; /* of the expected decrease, relative to 1 + cost, and of all gaps */
    {kind} cost;
    {kind} expected; /* decrease of the cost in the last iteration */
    {kind} length; /* of the last step, 1 to {shortest:g}; 0: none was better */
    {kind} checked; /* whether this plan was tried without mu: 0 no, 1 in vain, 2 next */
}} {name}_plan;

/* The motion from x0 under constant forces u0 (NULL: zero), with the weights, targets and limits
 * of the problem. Change p, low and high afterwards as you like. */
void {name}_start({name}_plan *plan, const {kind} *x0, const {kind} *u0);

/* One iteration from x0 (NULL: plan->x[0]); returns one of the results above. */
int {name}_iterate({name}_plan *plan, const {kind} *x0);

/* Moves the plan by one step, for the next tick of MPC; p stays. */
void {name}_shift({name}_plan *plan);

/* Forces u of the first step with feedback at the state x. Without feedback, and {name}_BAD_STATE,
 * if x is not finite. */
int {name}_control(const {name}_plan *plan, const {kind} *x, {kind} *u);"""
SELF_TEST = """
static {name}_plan plan;

int {name}_self_test({kind} *worst)
{{
    {name}_start(&plan, given_x[0], given_u[0]);
    *worst = ({name}_iterate(&plan, 0) == {name}_MOVED) ? {zero} : {most};
    for (int t = 0; t <= {name}_N; ++t) {{
        const {kind} x = difference(plan.x[t], expected_x[t], allowed_x, {name}_X);
        const int at = (t < {name}_N) ? t : 0;
        const {kind} u = difference(plan.u[at], expected_u[at], allowed_u, {name}_M);
        *worst = (x > *worst) ? x : *worst;
        *worst = (u > *worst) ? u : *worst;
    }}
    return (*worst <= {one}) ? 0 : 1;
}}"""


@dataclass(frozen=True, eq=False)
class Stored:
    """A start, (nx,) and (m,), the plan after one iteration, and the allowed differences."""

    x0: Array
    u0: Array
    x: Array
    u: Array
    allowed: tuple[Array, Array]


@dataclass(frozen=True, eq=False)
class Iteration:
    """A problem as it is written.

    graphs: "stage", "end", "step", "last" and "between", whose ports are named as in `iterate.c`.
    steps, dt: of the horizon. numbers: p of all stages, (steps + 1, p). bounds: low and high of the
    forces. motors: names of the degrees of freedom with one. places: what slices of p hold.
    settings: constants of the solver by their names in `iterate.c`. stored: makes an iteration for
    the self-test of code that computes in float64 or float32.
    """

    model: Model
    graphs: Mapping[str, Graph]
    steps: int
    dt: float
    numbers: Array
    bounds: tuple[Array, Array]
    motors: Sequence[str]
    places: Sequence[tuple[slice, str]]
    settings: Mapping[str, float]
    stored: Callable[[str], Stored]

    @property
    def limited(self) -> bool:
        """Return True if some force has a limit."""
        return bool(np.isfinite(self.bounds).any())

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Steps N, entries of x, of dx, of u and of p, as constants of the header."""
        between = self.graphs["between"]
        return {
            "N": self.steps, "X": between.inputs[0].size, "D": between.outputs[0].size,
            "M": len(self.motors), "P": self.numbers.shape[1], "LIMITED": int(self.limited),
        }  # fmt: skip

    @property
    def plan(self) -> int:
        """Numbers in a plan."""
        N, X, D, M, P, limited = self.sizes.values()
        return (N + 1) * (X + P) + N * (2 * M + D + M * D) + 2 * M * limited + 6

    @property
    def work(self) -> int:
        """Numbers in the arrays of the passes."""
        _, X, D, M, _, _ = self.sizes.values()
        Z = D + M
        return D * D + 4 * D + D * Z + Z * Z + Z + 2 * M * M + M * (D + 1) + 8 * M + 2 * X

    @property
    def operations(self) -> int:
        """Operations of one iteration without those of limits."""
        N, _, D, M, _, _ = self.sizes.values()
        Z, tries = D + M, int(self.settings["LENGTHS"]) + 1
        loops = 2 * D * D * Z + D * Z * Z + D * D * M + M * M * D + 2 * tries * M * D
        once, often = (
            sum(self.graphs[name].operations for name in names)
            for names in (("stage",), ("step", "between"))
        )
        return N * (loops + once + tries * often)


@runtime_checkable
class HasIteration(Protocol):
    """A problem of optimal control, as `kinetree.optimal.Problem` is."""

    def iteration(self) -> Iteration:
        """The problem as it is written."""
        ...


def write_iteration(
    this: Iteration, name: str, target: Target, called: str, dtype: str
) -> ExportedCode:
    """Write the three files."""
    programs = [
        Program(f"{name}_{word}", graph, graph.inputs, graph.outputs, (), dtype)
        for word, graph in this.graphs.items()
    ]
    stack = max(stack_bytes(program, target) for program in programs)
    stack += 8 * -(-(this.work * SIZES[dtype] + FRAMES) // 8)
    about = CodeFigures(
        called, dtype, this.operations, None, stack, target.compiler, target.flags, False
    )
    check_memory(this, about)
    # the operations of all functions: their helpers and remarks are those of one program
    nodes = tuple(node for program in programs for node in program.graph.nodes)
    program = Program(name, Graph(nodes, (), (), ()), (), (), tuple(comment(this, name)), dtype)
    source = source_text(this, program, programs, about)
    header = guarded(program, remarks(this, program, target, about), declarations(this, program))
    check_target_name(name)
    check_distinct(name, {*helper_names(program), *re.findall(rf"\b{name}_\w+", source + header)})
    return ExportedCode(name, source, header, test_text(this.stored(DTYPES[dtype]), program), about)


def check_memory(this: Iteration, about: CodeFigures) -> None:
    """Raise InputError if a plan and the stack are more than the microcontrollers have."""
    plan, most = this.plan * SIZES[about.dtype], MEMORY.get(about.target)
    if most is not None and plan + about.stack > most:
        raise InputError(
            f"a plan of {this.model.name!r} over {this.steps} steps takes {plan} bytes and "
            f"{about.stack} of stack, but {about.target} has at most {most}; expected fewer steps, "
            "fewer costs, a smaller robot, or another target such as 'aarch64'."
        )


def source_text(
    this: Iteration, program: Program, programs: Sequence[Program], about: CodeFigures
) -> str:
    """The functions of the graphs, and the passes around them."""
    name, dtype = program.name, program.dtype
    lines = [f"/* {program.header[0]}"]
    lines += [f" * For {about.target}; the header has names, units and figures. */", ""]
    lines += [f'#include "{name}.h"', "", *INCLUDES, "#include <stddef.h>"]
    lines += ["", *rounding_guard(dtype), "", helpers(program, about)]
    for part in programs:
        head, *body = function_text(part, *target_statements(part, name, about))
        lines += [f"static {head}", *body, ""]
    return "\n".join(lines) + "\n" + passes_text(this, name, dtype)


def passes_text(this: Iteration, name: str, dtype: str) -> str:
    """The loops of `iterate.c` with the names, the numbers and the type of a problem."""

    def row(values: Array) -> str:
        return ", ".join(
            c_literal(x, dtype) if np.isfinite(x) else f"{'-' if x < 0 else ''}HUGE_VAL{suffix}"
            for x in values.tolist()
        )

    suffix = "F" if dtype == FLOAT else ""
    rows = this.numbers
    if (rows[:-1, 1:] == rows[0, 1:]).all():
        rows = rows[[0, -1]]
    settings = {
        word: str(x) if isinstance(x, int) else c_literal(x, dtype)
        for word, x in this.settings.items()
    }
    words = settings | {
        "ROWS": str(len(rows)), "NUMBERS": "\n".join(f"        {{ {row(x)} }}," for x in rows),
        "LOW": row(this.bounds[0]), "HIGH": row(this.bounds[1]),
        "STEP": c_literal(this.dt, dtype), "TOLERANCE": c_literal(TOLERANCE[dtype], dtype),
        "LEAST_PULL": c_literal(LEAST_PULL[dtype], dtype),
        "NUMBER": dtype,
    }  # fmt: skip
    text = files(__package__ or "").joinpath("iterate.c").read_text(encoding="utf-8")
    if dtype == FLOAT:
        text = re.sub(r"\b\d+(\.\d+|e-?\d+)\b", r"\g<0>f", text).replace("fabs(", "fabsf(")
    text = re.sub(r"\bNAME_", f"{name}_", text)
    return re.sub(r"\b[A-Z_]{3,}\b", lambda word: words.get(word[0], word[0]), text)


def declarations(this: Iteration, program: Program) -> list[str]:
    """Sizes, results, the plan and the functions."""
    name, last = program.name, len(RESULTS) - 1
    sizes = [f"#define {name}_{word} {size}" for word, size in this.sizes.items()]
    results = [
        f"    {name}_{word}{',' if k < last else ''} /* {meaning} */"
        for k, (word, meaning) in enumerate(RESULTS.items())
    ]
    shortest = 0.5 ** (this.settings["LENGTHS"] - 1)
    text = DECLARED.format(name=name, kind=program.dtype, shortest=shortest)
    return [*sizes, "", "enum {", *results, "};", "", *text.split("\n")]


def comment(this: Iteration, name: str) -> Iterator[str]:
    """What the code computes, and the entries of states, forces and numbers."""
    yield f"{name}: one iteration of iLQR on a plan of {this.steps} steps of {this.dt:g} s"
    yield f'Robot "{plain(this.model.name)}", exported by kinetree {__version__}.'
    yield ""
    yield "SI units, radians. x = (q, dq), then activations or the last u where a problem has them;"
    yield "dx has the tangent vector of q in its place."
    arguments = Graph((), (Port("q", ()), Port("dq", ())), (), ())
    yield from joint_table(this.model, arguments, 0)
    yield f"Entries of u: {', '.join(map(plain, this.motors))}"
    yield "Entries of p[t]; the weights of p[N] are those of the last state"
    for at, meaning in this.places:
        if at.stop > at.start:
            span = str(at.start) if at.stop == at.start + 1 else f"{at.start} to {at.stop - 1}"
            yield f"  {span:10} {plain(meaning)}"


def remarks(this: Iteration, program: Program, target: Target, about: CodeFigures) -> Iterator[str]:
    """Lines on the target, and on memory."""
    yield f"About {about.operations} operations an iteration. A plan has {this.plan} numbers:"
    yield f"{this.plan * SIZES[about.dtype]} bytes, which belong to the caller."
    yield from facts(program, target, about)


def test_text(stored: Stored, program: Program) -> str:
    """The file of the self-test."""
    name, kind = program.name, program.dtype
    lines = [f"/* Self-test of {name}: one iteration with results of the kernel in double."]
    lines += [" * Define KINETREE_SELF_TEST_MAIN for a program that prints the verdict. */", ""]
    lines += [f'#include "{name}.h"', "", "#include <float.h>", "#include <math.h>"]
    lines += ["#include <stdbool.h>", ""]
    x, u = Port("x", stored.x0.shape), Port("u", stored.u0.shape)
    lines += table(program, x, stored.x0[None], "given")
    lines += table(program, u, stored.u0[None], "given")
    lines += table(program, x, stored.x, "expected")
    lines += table(program, u, stored.u, "expected")
    for port, allowed in zip((x, u), stored.allowed, strict=True):
        lines += limits(program, port, allowed)
    zero, one = (c_literal(value, kind) for value in (0, 1))
    most = "FLT_MAX" if kind == FLOAT else "DBL_MAX"
    lines += ["", *comparison(program, exact=False)]
    lines += SELF_TEST.format(name=name, kind=kind, zero=zero, one=one, most=most).split("\n")
    return "\n".join([*lines, *main(program, "1 plan")]) + "\n"
