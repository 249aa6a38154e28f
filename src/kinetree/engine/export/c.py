"""C99: a function without allocation, its header for C and C++, with a self-test beside it.

Operations are written one a statement, in the order of the graph. Functions such as sin and exp are
those of the C library, and a compiler may fuse products with sums: the results differ from those of
the kernel by roundings.
"""

from functools import partial

from kinetree.engine.compiler.ops import Operation
from kinetree.engine.export.program import (
    Program,
    Spelling,
    c_literal,
    join,
    library_name,
    statements,
)

NOTES = (
    "No heap, no static data that changes, no recursion: the function may be interrupted and",
    "called again. Results are written last, so that a result may overwrite an argument.",
)
SELF_TEST = (
    "/* In the file of the self-test: compares the function with stored results. Returns 0 if",
    " * they agree and 1 if not; *worst is the largest difference as a share of the allowed",
    " * one, so 1 is the limit. */",
)


def source_text(program: Program) -> str:
    """The source file."""
    head = [
        f"/* {program.header[0]}",
        " * The header has names, units and conventions. */",
        f'\n#include "{program.name}.h"\n\n#include <math.h>\n',
    ]
    return "\n".join([*head, *function_text(program)]) + "\n"


def header_text(program: Program) -> str:
    """The header of a quantity: the comment, sizes of the arrays, and the prototypes."""
    name, kind = program.name, program.dtype
    ports = {port.name: port for port in (*program.inputs, *program.outputs)}.values()
    lines = [f"/* {program.header[0]}"]
    lines += [f" * {line}".rstrip() for line in (*program.header[1:], "", *NOTES)]
    lines += [" */", "", f"#ifndef {name}_H", f"#define {name}_H", ""]
    lines += ["#ifdef __cplusplus", 'extern "C" {', "#endif", ""]
    lines += [f"#define {name}_{x.name.upper()}_SIZE {x.size}" for x in ports if x.shape]
    lines += ["", f"{prototype(program)};", "", *SELF_TEST, f"int {name}_self_test({kind} *worst);"]
    lines += ["", "#ifdef __cplusplus", "}", "#endif", "", f"#endif /* {name}_H */"]
    return "\n".join(lines) + "\n"


def function_text(program: Program, written: Spelling | None = None) -> list[str]:
    """The lines of the function; `written` is the spelling of a dialect of C."""
    body, results = statements(program, written or spelling(program.dtype))
    lines = [prototype(program), "{"]
    lines += [f"    (void){port.name};" for port in program.unread]
    lines += body
    if returns(program):
        return [*lines, f"    return {results[0][0]};", "}"]
    for port, result in zip(program.outputs, results, strict=True):
        if port.shape:
            lines += [f"    {port.name}[{k}] = {value};" for k, value in enumerate(result)]
        else:
            lines.append(f"    *{port.name} = {result[0]};")
    return [*lines, "}"]


def spelling(dtype: str) -> Spelling:
    """How C writes operations on numbers of a type."""

    def expression(operation: Operation) -> str:
        word = operation.infix or operation.c
        return library_name(dtype, word) if word.isalnum() else word

    return Spelling(
        expression,
        literal=partial(c_literal, dtype=dtype),
        element=lambda port, k: f"{port.name}[{k}]" if port.shape else port.name,
        assign=f"    const {dtype} {{}} = {{}};",
        number=dtype,
    )


def prototype(program: Program) -> str:
    """The function's type, its name and its parameters."""
    kind = program.dtype
    parameters = [
        f"const {kind} {port.name}[{port.size}]" if port.shape else f"{kind} {port.name}"
        for port in program.inputs
    ]
    used = len(program.name) + 8
    if returns(program):
        return f"{kind} {program.name}({join(parameters, used)})"
    parameters += [
        f"{kind} {port.name}[{port.size}]" if port.shape else f"{kind} *{port.name}"
        for port in program.outputs
    ]
    return f"void {program.name}({join(parameters, used)})"


def returns(program: Program) -> bool:
    """Return True if the result is one number, which C can return."""
    return len(program.outputs) == 1 and program.outputs[0].shape == ()
