"""C99 and C++: one function without allocation, with the sine, exponential, ... of the kernels.

Sine and cosine are written from `kinetree.engine.compiler.sincos`, exp, log, tanh and atan2 from
`kinetree.engine.compiler.elementary`, operation by operation, so that exported code rounds as the
kernel does; angles beyond the short reduction go to the language's own library.
"""

from functools import partial

from kinetree.engine.c_functions import ALWAYS, CArithmetic, Dialect, functions_text
from kinetree.engine.compiler.elementary import FUNCTIONS
from kinetree.engine.compiler.graph import Port
from kinetree.engine.compiler.sincos import LIMIT, sincos
from kinetree.engine.export.program import (
    DTYPES,
    Program,
    Spelling,
    c_literal,
    double_literal,
    join,
    library_name,
    statements,
)

# macros that compilers define if they may reorder or replace operations
FAST_MATH = ("__FAST_MATH__", "_M_FP_FAST", "__ASSOCIATIVE_MATH__", "__RECIPROCAL_MATH__")
# values of FLT_EVAL_METHOD for which operations on a type round to that type
ROUNDS = {"double": (0, 1, 16, 32, 64), "float": (0, 16, 32)}


def write_c(program: Program) -> str:
    """Write a C99 file."""
    lines = [f"// {line}".rstrip() for line in program.header]
    lines += ["", "#include <float.h>", "#include <math.h>"]
    lines += ["#include <string.h>", ""] if reads_bits(program) else [""]
    lines += [*rounding_guard(program.dtype), ""]
    body = statements(program, c_spelling(program))
    lines += [*helper_texts(program), *function_text(program, *body)]
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
    lines += ["#include <cstring>"] if reads_bits(program) else []
    lines += ["#include <tuple>"] if len(program.outputs) > 1 else []
    lines += ["", *rounding_guard(program.dtype), ""]
    lines += helper_texts(program, prefix="std::", linkage="inline")
    lines += [*cpp_function(program), "", f"#endif  // {guard}"]
    return "\n".join(lines) + "\n"


def c_spelling(program: Program, prefix: str = "") -> Spelling:
    """How C and C++ write operations."""
    dtype, helper = program.dtype, f"{program.name}_sincos"
    library = partial(library_name, dtype, prefix=prefix)
    kernel_function = library if program.libm else partial(function_name, program.name)
    literal = partial(c_literal, dtype=dtype)
    pair = f"    {dtype} {{sin}}, {{cos}};\n    {helper}({{}}, &{{sin}}, &{{cos}});"
    return Spelling(
        operations=Dialect(literal, library, kernel_function).operations,
        literal=literal,
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


def function_text(program: Program, body: list[str], results: list[list[str]]) -> list[str]:
    """The function with the statements of its body, and the names of its results.

    Results are written last, so that they may overwrite arguments.
    """
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


def function_name(function: str, op: str) -> str:
    """Name of a helper that belongs to an exported function."""
    return f"{function}_kernel_{op}"


def reads_bits(program: Program) -> bool:
    """Return True if the helpers of the function read bits of numbers."""
    return needs_sincos(program) or own_functions(program)


def helper_texts(program: Program, *, prefix: str = "", linkage: str = "static") -> list[str]:
    """The sines and functions of the kernel that the function calls, written out."""
    if not reads_bits(program):
        return []
    named = partial(function_name, program.name)
    bits, number = named("bits"), named("number")

    def arithmetic() -> CArithmetic:
        return CArithmetic(double_literal, f"{prefix}fma", bits, number)

    texts = [
        f"""\
{linkage} unsigned long long {bits}(double x)
{{
    unsigned long long bits;
    {prefix}memcpy(&bits, &x, sizeof bits);
    return bits;
}}

{linkage} double {number}(unsigned long long bits)
{{
    double x;
    {prefix}memcpy(&x, &bits, sizeof x);
    return x;
}}
"""
    ]
    if needs_sincos(program):
        texts.append(sincos_text(program, arithmetic(), prefix, linkage))
    if own_functions(program):
        texts.append(
            "// functions of one number, rounded as in the kernel, with errors below 1 ulp"
        )
        used = program.graph.count()
        texts.append(functions_text(used, program.dtype, named, arithmetic, linkage))
    return texts


def sincos_text(program: Program, f: CArithmetic, prefix: str, linkage: str) -> str:
    """The helper: sine and cosine of one angle, with errors below 1 ulp."""
    dtype = program.dtype
    sine, cosine = sincos(f, "x", "size", ALWAYS, DTYPES[dtype])
    fabs, sin, cos = (library_name(dtype, op, prefix) for op in ("fabs", "sin", "cos"))
    steps = "\n".join(f.lines)
    return f"""\
// sine and cosine of an angle, rounded as in the kernel: x = n pi/2 + t, then two polynomials
{linkage} void {program.name}_sincos({dtype} angle, {dtype} *s, {dtype} *c)
{{
    if (!({fabs}(angle) <= {c_literal(LIMIT[DTYPES[dtype]], dtype)})) {{
        *s = {sin}(angle);
        *c = {cos}(angle);
        return;
    }}
    const double x = angle;
    const double size = {fabs}(angle);
{steps}
    *s = ({dtype}){sine};
    *c = ({dtype}){cosine};
}}
"""
