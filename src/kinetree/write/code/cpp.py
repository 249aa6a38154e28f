"""A C++ header: one inline function of std::array, by value in and out."""

from kinetree.compiler.graph import Port
from kinetree.write.code.c import c_spelling, needs_sincos, rounding_guard
from kinetree.write.code.program import Program, join, statements
from kinetree.write.code.sincos import sincos_text

LAYOUT = "row by row in flat arrays"


def write_cpp(program: Program) -> str:
    """The text of a header for C++11 and newer."""
    guard = f"KINETREE_{program.name}_HPP"  # case kept: f and F are two functions
    lines = [f"// {line}".rstrip() for line in program.header]
    lines += [
        "",
        f"#ifndef {guard}",
        f"#define {guard}",
        "",
        "#include <array>",
        "#include <cfloat>",
        "#include <cmath>",
    ]
    lines += ["#include <tuple>"] if len(program.outputs) > 1 else []
    lines += ["", *rounding_guard(program.dtype), ""]
    if needs_sincos(program):
        lines.append(sincos_text(program.name, program.dtype, prefix="std::", linkage="inline"))
    lines += [*_function(program), "", f"#endif  // {guard}"]
    return "\n".join(lines) + "\n"


def _function(program: Program) -> list[str]:
    body, results = statements(program, c_spelling(program, "std::"))
    read = {port.name for port in program.inputs} - {port.name for port in program.unread}
    parameters = [
        f"const {_type(program, port)}&{' ' + port.name if port.name in read else ''}"
        for port in program.inputs
    ]
    kinds = [_type(program, port) for port in program.outputs]
    if len(kinds) == 1:
        kind, value = kinds[0], _value(program, program.outputs[0], results[0])
    else:
        kind = f"std::tuple<{', '.join(kinds)}>"
        pairs = zip(program.outputs, results, strict=True)
        value = f"{kind}({', '.join(_value(program, port, names) for port, names in pairs)})"
    head = f"inline {kind} {program.name}"
    lines = [f"{head}({join(parameters, len(head) + 11)}) noexcept", "{"]
    return [*lines, *body, f"    return {value};", "}"]


def _type(program: Program, port: Port) -> str:
    return f"std::array<{program.dtype}, {port.size}>" if port.shape else program.dtype


def _value(program: Program, port: Port, names: list[str]) -> str:
    return f"{_type(program, port)}{{{{{', '.join(names)}}}}}" if port.shape else names[0]
