"""C99: one function without allocation, and on request a main that checks it."""

from kinetree.compiler.graph import Port
from kinetree.write.code.numbers import c_literal
from kinetree.write.code.program import ARITHMETIC, Program, Spelling, join, statements
from kinetree.write.code.sincos import sincos_name, sincos_text

LAYOUT = "row by row in flat arrays"


def c_operations(dtype: str, prefix: str = "") -> dict[str, str]:
    """Spelling of the operations in C; `prefix` is the namespace of the functions, if any."""
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
    }


def c_spelling(program: Program, prefix: str = "") -> Spelling:
    """C and C++ alike."""
    dtype, helper = program.dtype, sincos_name(program.name)
    pair = f"    {dtype} {{sin}}, {{cos}};\n    {helper}({{}}, &{{sin}}, &{{cos}});"
    return Spelling(
        operations=c_operations(dtype, prefix),
        literal=lambda value: c_literal(value, dtype),
        element=lambda port, k: f"{port.name}[{k}]" if port.shape else port.name,
        assign=f"    const {dtype} {{}} = {{}};",
        pair="" if program.libm else pair,
    )


def write_c(program: Program) -> str:
    """The text of a C99 file."""
    lines = [f"// {line}".rstrip() for line in program.header]
    lines += ["", "#include <float.h>", "#include <math.h>", ""]
    lines += [*rounding_guard(program.dtype), ""]
    lines += [sincos_text(program.name, program.dtype)] if needs_sincos(program) else []
    lines += c_function(program)
    return "\n".join(lines) + "\n"


# values of FLT_EVAL_METHOD with which operations of that type round to it
ROUNDS = {"double": (0, 1, 16, 32, 64), "float": (0, 16, 32)}


def rounding_guard(dtype: str) -> list[str]:
    """Lines that stop a compiler whose arithmetic gives other bits than the kernel.

    The x87 unit computes in 80 bits, and some flags let compilers reorder sums.
    """
    methods = " || ".join(f"FLT_EVAL_METHOD == {k}" for k in ROUNDS[dtype])
    accept = "or define KINETREE_OTHER_ROUNDING to accept results that differ by some eps"
    return [
        "#ifndef KINETREE_OTHER_ROUNDING",
        f"#if defined(FLT_EVAL_METHOD) && !({methods})",
        f'#error "operations do not round to {dtype}: compile with -msse2 -mfpmath=sse, {accept}"',
        "#endif",
        "#if defined(__FAST_MATH__) || defined(_M_FP_FAST)",
        f'#error "the compiler may reorder sums: leave out -ffast-math (/fp:fast), {accept}"',
        "#endif",
        "#endif",
    ]


def needs_sincos(program: Program) -> bool:
    """Whether the kernel's own sine and cosine are called."""
    count = program.graph.count()
    return not program.libm and bool(count["sin"] or count["cos"])


def c_function(program: Program) -> list[str]:
    """The function; results are written last, so that they may stand where arguments stood."""
    body, results = statements(program, c_spelling(program))
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
    """Whether the result is one number, which C can return."""
    return len(program.outputs) == 1 and program.outputs[0].shape == ()


def _parameter(port: Port) -> str:
    return f"{port.name}[{port.size}]"


def _at(port: Port, k: int) -> str:
    return f"{port.name}[{k}]" if port.shape else f"*{port.name}"
