"""C99 and C++: one function without allocation, with the sine, exponential, ... of the kernels.

The arithmetic of sine and cosine is that of `kinetree.compiler.sincos`, that of exp, log, tanh
and atan2 the one of `kinetree.compiler.elementary`, step by step, so that exported code rounds as
the kernel does; angles beyond the short reduction go to the language's own library.
"""

import functools
import re

from kinetree.backends.c_functions import CArithmetic, functions_text
from kinetree.compiler.elementary import FUNCTIONS
from kinetree.compiler.graph import OPERATIONS, Port
from kinetree.compiler.sincos import (
    COSINE_32,
    COSINE_64,
    HALF_PI,
    HALF_PI_REST,
    LIMIT,
    ROUNDER,
    SINE_32,
    SINE_64,
    TWO_OVER_PI,
)
from kinetree.write.code.program import (
    ARITHMETIC,
    DTYPES,
    Program,
    Spelling,
    c_literal,
    double_literal,
    join,
    statements,
)

# macros that compilers define if they may reorder or replace operations
FAST_MATH = ("__FAST_MATH__", "_M_FP_FAST", "__ASSOCIATIVE_MATH__", "__RECIPROCAL_MATH__")
# values of FLT_EVAL_METHOD for which operations on a type round to that type
ROUNDS = {"double": (0, 1, 16, 32, 64), "float": (0, 16, 32)}
REDUCTION = {
    "double": f"""\
    const double rest = fma(n, {-HALF_PI[0]!r}, x);
    const double t = fma(n, {-HALF_PI[1]!r}, rest);
    const double left = fma(n, {-HALF_PI[1]!r}, rest - t);
    const double low = fma(n, {-HALF_PI[2]!r}, left);
""",
    "float": f"""\
    const double rest = fma(n, {-HALF_PI[0]!r}, x);
    const double t = fma(n, {-HALF_PI_REST!r}, rest);
""",
}


def write_c(program: Program) -> str:
    """Write a C99 file."""
    lines = [f"// {line}".rstrip() for line in program.header]
    lines += ["", "#include <float.h>", "#include <math.h>"]
    lines += ["#include <string.h>", ""] if own_functions(program) else [""]
    lines += [*rounding_guard(program.dtype), ""]
    lines += [sincos_text(program.name, program.dtype)] if needs_sincos(program) else []
    lines += [elementary_text(program)] if own_functions(program) else []
    lines += c_function(program)
    return "\n".join(lines) + "\n"


def write_cpp(program: Program) -> str:
    """Write a header for C++11 and newer: an inline function of std::array."""
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
    lines += ["#include <cstring>"] if own_functions(program) else []
    lines += ["#include <tuple>"] if len(program.outputs) > 1 else []
    lines += ["", *rounding_guard(program.dtype), ""]
    if needs_sincos(program):
        lines.append(sincos_text(program.name, program.dtype, prefix="std::", linkage="inline"))
    if own_functions(program):
        lines.append(elementary_text(program, prefix="std::", linkage="inline"))
    lines += [*cpp_function(program), "", f"#endif  // {guard}"]
    return "\n".join(lines) + "\n"


def c_operations(dtype: str, prefix: str = "", own: str = "") -> dict[str, str]:
    """Templates of the operations in C.

    `prefix` is the namespace of the functions, or empty; `own` is the name of the exported function
    if exp, log, tanh and atan2 are written out beside it, empty if they are those of the library.
    """
    f = "f" if dtype == "float" and not prefix else ""
    one, zero = c_literal(1, dtype), c_literal(0, dtype)
    last = f"{{0}} == {zero} ? {zero} : {{0}}"  # NaN stays
    return ARITHMETIC | {
        "fma": f"{prefix}fma{f}({{}}, {{}}, {{}})",
        "fms": f"{prefix}fma{f}({{}}, {{}}, -{{}})",
        "fnma": f"{prefix}fma{f}(-{{}}, {{}}, {{}})",
        "sin": f"{prefix}sin{f}({{}})",
        "cos": f"{prefix}cos{f}({{}})",
        "sqrt": f"{prefix}sqrt{f}({{}})",
        "select": f"{{}} > {zero} ? {{}} : {{}}",
        "sign": f"{{0}} > {zero} ? {one} : {{0}} < {zero} ? -{one} : {last}",
        "abs": f"{prefix}fabs{f}({{}})",
        "min": "{0} < {1} || {0} != {0} ? {0} : {1}",
        "max": "{0} > {1} || {0} != {0} ? {0} : {1}",
        **{
            op: f"{function_name(own, op) if own else prefix + op + f}({arguments})"
            for op in FUNCTIONS
            for arguments in [", ".join(["{}"] * OPERATIONS[op][0])]
        },
    }


def c_spelling(program: Program, prefix: str = "") -> Spelling:
    """How C and C++ write operations."""
    dtype, helper = program.dtype, sincos_name(program.name)
    pair = f"    {dtype} {{sin}}, {{cos}};\n    {helper}({{}}, &{{sin}}, &{{cos}});"
    return Spelling(
        operations=c_operations(dtype, prefix, "" if program.libm else program.name),
        literal=lambda value: c_literal(value, dtype),
        element=lambda port, k: f"{port.name}[{k}]" if port.shape else port.name,
        assign=f"    const {dtype} {{}} = {{}};",
        pair="" if program.libm else pair,
    )


def rounding_guard(dtype: str) -> list[str]:
    """Lines that make a compiler stop if its arithmetic gives other bits than the kernel.

    The x87 unit computes in 80 bits, and some flags let compilers reorder sums, which also breaks
    the reduction of angles. Of the single flags, only those that define a macro are found.
    """
    methods = " || ".join(f"FLT_EVAL_METHOD == {k}" for k in ROUNDS[dtype])
    accept = "or define KINETREE_OTHER_ROUNDING to accept results that differ by some eps"
    shown = " || ".join(f"defined({macro})" for macro in FAST_MATH)
    shown += " || (defined(__FINITE_MATH_ONLY__) && (__FINITE_MATH_ONLY__ != 0))"
    fast = "leave out -ffast-math (/fp:fast) and flags that are part of it"
    careless = "define KINETREE_OTHER_ROUNDING to accept results that may be wrong"
    return [
        "#ifndef KINETREE_OTHER_ROUNDING",
        f"#if defined(FLT_EVAL_METHOD) && !({methods})",
        f'#error "operations do not round to {dtype}: compile with -msse2 -mfpmath=sse, {accept}"',
        "#endif",
        f"#if {shown}",
        f'#error "the compiler may reorder sums: {fast}, or {careless}"',
        "#endif",
        "#endif",
    ]


def needs_sincos(program: Program) -> bool:
    """Return True if the function calls the kernel's sine and cosine."""
    count = program.graph.count()
    return not program.libm and bool(count["sin"] or count["cos"])


def own_functions(program: Program) -> bool:
    """Return True if the function calls the kernel's exp, log, tanh or atan2."""
    count = program.graph.count()
    return not program.libm and any(count[op] for op in FUNCTIONS)


def c_function(program: Program) -> list[str]:
    """The function; results are written last, so that they may overwrite arguments."""
    return function_text(program, *statements(program, c_spelling(program)))


def function_text(program: Program, body: list[str], results: list[list[str]]) -> list[str]:
    """The function with the statements of its body, and the names of its results."""
    lines = [prototype(program), "{"]
    lines += [f"    (void){port.name};" for port in program.unread]
    lines += body
    if returns(program):
        lines.append(f"    return {results[0][0]};")
    else:
        for port, result in zip(program.outputs, results, strict=True):
            lines += [f"    {_at(port, k)} = {name};" for k, name in enumerate(result)]
    return [*lines, "}"]


def prototype(program: Program) -> str:
    """The function's type, its name and its parameters."""
    parameters = [
        f"const {program.dtype} {_parameter(port)}"
        if port.shape
        else f"{program.dtype} {port.name}"
        for port in program.inputs
    ]
    used = len(program.name) + 8
    if returns(program):
        return f"{program.dtype} {program.name}({join(parameters, used)})"
    parameters += [
        f"{program.dtype} {_parameter(port)}" if port.shape else f"{program.dtype} *{port.name}"
        for port in program.outputs
    ]
    return f"void {program.name}({join(parameters, used)})"


def returns(program: Program) -> bool:
    """Return True if the result is one number, which C can return."""
    return len(program.outputs) == 1 and program.outputs[0].shape == ()


def _parameter(port: Port) -> str:
    return f"{port.name}[{port.size}]"


def _at(port: Port, k: int) -> str:
    return f"{port.name}[{k}]" if port.shape else f"*{port.name}"


def cpp_function(program: Program) -> list[str]:
    """The inline function; arguments by reference, results by value."""
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


def sincos_name(function: str) -> str:
    """Name of the helper that belongs to an exported function."""
    return f"{function}_sincos"


def sincos_text(
    function: str, dtype: str, *, prefix: str = "", linkage: str = "static", integer: str = "long"
) -> str:
    """The helper: sine and cosine of one angle, with errors below 1 ulp."""
    f = "f" if dtype == "float" and not prefix else ""
    limit = f"{LIMIT[DTYPES[dtype]]!r}{'f' if dtype == 'float' else ''}"
    text = f"""\
// sine and cosine of an angle, rounded as in the kernel: x = n pi/2 + t, then two polynomials
{linkage} void {sincos_name(function)}({dtype} angle, {dtype} *s, {dtype} *c)
{{
    if (!(fabs{f}(angle) <= {limit})) {{
        *s = sin{f}(angle);
        *c = cos{f}(angle);
        return;
    }}
    const double x = fabs{f}(angle);
    const double shifted = fma(x, {TWO_OVER_PI!r}, {ROUNDER!r});
    const double n = shifted - {ROUNDER!r};
{REDUCTION[dtype]}    const double z = t * t;
    const double z2 = z * z;
{_evaluation(dtype)}    const {integer} quadrant = ({integer})n & 3;
    const double along = quadrant & 1 ? cosine : sine;
    const double across = quadrant & 1 ? sine : cosine;
    const int down = (quadrant & 2) != 0;
    *s = ({dtype})(down != (signbit(angle) != 0) ? -along : along);
    *c = ({dtype})(quadrant == 1 || quadrant == 2 ? -across : across);
}}
"""
    return _qualified(text, prefix)


def function_name(function: str, op: str) -> str:
    """Name of a helper that belongs to an exported function."""
    return f"{function}_kernel_{op}"


def elementary_text(program: Program, *, prefix: str = "", linkage: str = "static") -> str:
    """The helpers for those of exp, log, tanh and atan2 that are used, and for bits of numbers."""
    bits, from_bits = (function_name(program.name, op) for op in ("bits", "number"))
    texts = [
        "// functions of one number, rounded as in the kernel, with errors below 1 ulp",
        f"{linkage} unsigned long long {bits}(double x)",
        "{",
        "    unsigned long long bits;",
        f"    {prefix}memcpy(&bits, &x, sizeof bits);",
        "    return bits;",
        "}",
        "",
        f"{linkage} double {from_bits}(unsigned long long bits)",
        "{",
        "    double x;",
        f"    {prefix}memcpy(&x, &bits, sizeof x);",
        "    return x;",
        "}",
        "",
    ]

    def arithmetic() -> CArithmetic:
        return CArithmetic(double_literal, f"{prefix}fma", bits, from_bits)

    used, dtype = program.graph.count(), program.dtype
    named = functools.partial(function_name, program.name)
    return "\n".join(texts) + "\n" + functions_text(used, dtype, named, arithmetic, linkage)


def _evaluation(dtype: str) -> str:
    """Statements for the sine and cosine of t, with z = t^2 and z2 = z^2."""
    if dtype == "float":
        return f"""\
{_polynomial("p", SINE_32)}{_polynomial("r", COSINE_32)}    const double sine = fma(t * z, p, t);
    const double head = fma(z, -0.5, 1.0);
    const double cosine = fma(z2, r, head);
"""
    return f"""\
{_polynomial("p", SINE_64)}{_polynomial("r", COSINE_64)}    const double head = fma(z, -0.5, 1.0);
    const double bend = t * z;
    const double tail = low * head;
    const double sine = t + fma(bend, p, tail);
    const double lost = fma(z, -0.5, 1.0 - head);
    const double cosine = head + fma(-t, low, fma(z2, r, lost));
"""


def _polynomial(name: str, c: tuple[float, ...]) -> str:
    """Statements for c[0] + c[1] z + ..., two powers at a time."""
    text, parts = "", []
    for k in range(0, len(c), 2):
        value = f"fma(z, {c[k + 1]!r}, {c[k]!r})" if k + 1 < len(c) else repr(c[k])
        parts.append(f"{name}{k}")
        text += f"    const double {parts[-1]} = {value};\n"
    value = parts.pop()
    while parts:
        value = f"fma(z2, {value}, {parts.pop()})"
    return f"{text}    const double {name} = {value};\n"


def _qualified(text: str, prefix: str) -> str:
    """Put the namespace before the mathematical functions."""
    words = "fma|fabs|sin|cos|signbit"
    return re.sub(rf"(?<=[ (!])({words})\(", rf"{prefix}\1(", text)
