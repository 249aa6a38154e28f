"""C for a target: a source file, its header and a self-test that needs no operating system.

The code has no heap and writes no static data, so it can be interrupted and called again
(reentrant). Names differ within their first 31 characters, external functions have prototypes,
internal ones are static. Code that computes in float alone returns at one place of a function, and
its integers have the types of <stdint.h>, as MISRA C asks for. Results are written last, so that
they may overwrite arguments.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

from kinetree.engine.c_functions import Dialect
from kinetree.engine.compiler.elementary import FUNCTIONS
from kinetree.engine.export.c import (
    function_name,
    function_text,
    helper_texts,
    needs_sincos,
    prototype,
    rounding_guard,
)
from kinetree.engine.export.names import check_distinct, check_target_name
from kinetree.engine.export.program import (
    DOUBLE,
    FLOAT,
    Program,
    Spelling,
    c_literal,
    statements,
)
from kinetree.engine.export.self_test import self_test_text
from kinetree.engine.export.target_functions import ERRORS, FAR, FAR_ERROR, Writing, functions_text
from kinetree.engine.export.targets import Target, cycles, stack_bytes
from kinetree.errors import InputError
from kinetree.model import Model

SUFFIXES = (".c", ".h", "_test.c")
INCLUDES = [f"#include <{file}.h>" for file in ("float", "math", "stdbool", "stdint", "string")]


@dataclass(frozen=True)
class CodeFigures:
    """Figures of exported code.

    operations: of floating point; a fused multiply-add counts as two. cycles: estimate of one call,
    None where it depends on the model of the processor. stack: estimate in bytes. compiler, flags:
    for which the estimate was compared. kernel_bits: the results have the bits of the kernel.
    """

    target: str
    dtype: str
    operations: int
    cycles: int | None
    stack: int
    compiler: str
    flags: str
    kernel_bits: bool


@dataclass(frozen=True)
class ExportedCode:
    """Exported C for a target: the texts of three files, and figures.

    `str` of it is a summary. The names of the files begin with the name of the function, unless
    `save` or `files` receives another one.
    """

    name: str
    source: str
    header: str
    self_test: str
    about: CodeFigures

    def files(self, stem: str | None = None) -> dict[str, str]:
        """Names of the three files and their texts; includes refer to these names."""
        stem = self.name if stem is None else stem
        if not stem or set(stem) & set('"\\/\n\r') or not stem.isprintable():
            raise InputError(
                f"the files would be named {stem!r}; expected a name without quotes and slashes, "
                f"such as {self.name!r}."
            )
        texts = (self.source, self.header, self.self_test)
        old, new = (f'#include "{name}.h"' for name in (self.name, stem))
        return {
            f"{stem}{suffix}": text.replace(old, new, 1)
            for suffix, text in zip(SUFFIXES, texts, strict=True)
        }

    def save(self, path: str | Path) -> list[Path]:
        """Write the three files and return their names.

        Args:
            path: name of the source file, such as "panda_id.c"; the others are panda_id.h and
                panda_id_test.c. A source file of this name is replaced; a file of the other two
                names only if kinetree wrote it.
        """
        path = Path(path)
        if path.suffix != ".c":
            raise InputError(f"the path is {str(path)!r}; expected a name that ends in .c.")
        files = {path.with_name(name): text for name, text in self.files(path.stem).items()}
        for beside in list(files)[1:]:
            if beside.exists() and not exported(beside):
                raise InputError(
                    f"{beside} exists and was not written by kinetree; it would be replaced beside "
                    f"{path.name}. Choose another name than {path.name}, or move that file."
                )
        for written, text in files.items():
            written.write_text(text, encoding="utf-8", newline="\n")
        return list(files)

    def __str__(self) -> str:
        return "\n".join(
            [f"{self.name} for {self.about.target}", *map("  ".__add__, figures(self))]
        )


def exported(path: Path) -> bool:
    """Return True if the file begins as a header or self-test of kinetree, or is empty."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False
    first, second, *_ = [*text.split("\n", 2), ""]
    ours = first.startswith("/* Self-test of ") and "results of the kernel in" in first
    return not text or ours or "exported by kinetree " in second


def figures(code: ExportedCode) -> list[str]:
    """Lines on numbers, operations, cycles, stack and compiler."""
    about = code.about
    spent = "depend on the processor" if about.cycles is None else f"about {about.cycles}"
    bits = "those of the kernel" if about.kernel_bits else "differ from the kernel's"
    return [
        f"numbers     {about.dtype}; bits {bits}",
        f"operations  {about.operations}",
        f"cycles      {spent}",
        f"stack       about {about.stack} bytes, estimated with a margin; no heap",
        f"compiler    {about.compiler} {about.flags}",
    ]


def write_target(program: Program, model: Model, target: Target, called: str) -> ExportedCode:
    """Write the three files; the dtype of the program is one of the target's."""
    same = program.dtype in target.kernel
    about = CodeFigures(
        called, program.dtype, program.graph.operations, cycles(program, target),
        stack_bytes(program, target), target.compiler, target.flags, same,
    )  # fmt: skip
    check_target_name(program.name)
    check_distinct(program.name, [*helper_names(program), *size_names(program).values()])
    return ExportedCode(
        program.name,
        source_text(program, about),
        header_text(program, target, about),
        self_test_text(program, model, same_bits=same, fused=target.fused),
        about,
    )


def helper_names(program: Program) -> list[str]:
    """Names at the level of the files, besides the function's."""
    words = ("sincos", "pair", "reduce", "bits", "number", "reduced_exp", "self_test", "given", "H")
    return [f"{program.name}_{word}" for word in (*words, *FUNCTIONS)]


def size_names(program: Program) -> dict[str, str]:
    """Names of the constants for sizes of arrays, by port."""
    ports = (*program.inputs, *program.outputs)
    return {port.name: f"{program.name}_{port.name.upper()}_SIZE" for port in ports if port.shape}


def dialect(prefix: str, about: CodeFigures) -> Dialect:
    """How the target writes operations: with the kernel's functions, its own, or the library's."""
    target_dialect = Writing(prefix, about.dtype, fused=about.target != "c99").dialect
    return (
        replace(target_dialect, own=partial(function_name, prefix))
        if about.kernel_bits
        else target_dialect
    )


def source_text(program: Program, about: CodeFigures) -> str:
    """The file with the function and its helpers."""
    body, results = target_statements(program, program.name, about)
    lines = [
        f"/* {program.header[0]}",
        f" * For {about.target}; the header has names, units and figures. */",
        "",
    ]
    lines += [f'#include "{program.name}.h"', "", *INCLUDES]
    lines += ["", *rounding_guard(program.dtype), ""]
    lines += [helpers(program, about), *function_text(program, body, results)]
    return "\n".join(lines) + "\n"


def target_statements(
    program: Program, prefix: str, about: CodeFigures
) -> tuple[list[str], list[list[str]]]:
    """Statements of the function, and names of its results; prefix: that of the helpers' names."""
    dtype = program.dtype
    pair = (
        f"    {dtype} {{sin}};\n    {dtype} {{cos}};\n"
        f"    {prefix}_sincos({{}}, &{{sin}}, &{{cos}});"
        if about.kernel_bits
        else f"    const {prefix}_pair {{sin}}_pair = {prefix}_sincos({{}});\n"
        f"    const {dtype} {{sin}} = {{sin}}_pair.sine;\n"
        f"    const {dtype} {{cos}} = {{sin}}_pair.cosine;"
    )
    spelling = Spelling(
        operations=dialect(prefix, about).operations,
        literal=partial(c_literal, dtype=dtype),
        element=lambda port, k: f"{port.name}[{k}]" if port.shape else port.name,
        assign=f"    const {dtype} {{}} = {{}};",
        pair=pair,
    )
    body, results = statements(program, spelling)
    return without_unread(body, results), results


def without_unread(body: list[str], results: list[list[str]]) -> list[str]:
    """The statements without a sine or cosine of a pair that no statement reads.

    Compilers warn about them, and warnings are errors in many projects.
    """
    lines = [line for text in body for line in text.split("\n")]
    read = Counter(re.findall(r"\w+", " ".join([*lines, *(x for row in results for x in row)])))
    part = re.compile(r"    const \w+ (\w+) = \w+_pair\.(?:sine|cosine);")
    matched = ((line, part.fullmatch(line)) for line in lines)
    return [line for line, match in matched if match is None or read[match[1]] > 1]


def helpers(program: Program, about: CodeFigures) -> str:
    """The functions of one or two numbers that the function calls."""
    if not about.kernel_bits:
        w = Writing(program.name, program.dtype, fused=about.target != "c99")
        return functions_text(w, program.graph.count())
    return "\n".join(helper_texts(program))


def header_text(program: Program, target: Target, about: CodeFigures) -> str:
    """The header: comment, sizes and prototypes."""
    sizes = size_names(program)
    ports = {port.name: port for port in (*program.inputs, *program.outputs)}.values()
    lines = [f"#define {sizes[port.name]} {port.size}" for port in ports if port.shape]
    return guarded(program, facts(program, target, about), [*lines, "", f"{prototype(program)};"])


def guarded(program: Program, remarks: Iterable[str], declared: Sequence[str]) -> str:
    """A header with the comment of the program and remarks, what is declared, and the self-test."""
    name = program.name
    lines = [f"/* {program.header[0]}"]
    lines += [f" * {line}".rstrip() for line in (*program.header[1:], "", *remarks)]
    lines += [" */", "", f"#ifndef {name}_H", f"#define {name}_H", ""]
    lines += ["#ifdef __cplusplus", 'extern "C" {', "#endif", "", *declared]
    lines += [
        "",
        "/* In the file of the self-test: compares the function with stored results. Returns 0 if",
        " * they agree and 1 if not; *worst is the largest difference as a share of the allowed",
        " * one, so 1 is the limit. */",
        f"int {name}_self_test({program.dtype} *worst);",
        "",
        "#ifdef __cplusplus",
        "}",
        "#endif",
        "",
        f"#endif /* {name}_H */",
    ]
    return "\n".join(lines) + "\n"


def facts(program: Program, target: Target, about: CodeFigures) -> Iterator[str]:
    """Lines on the target: arithmetic, accuracy, cycles, stack and flags."""
    yield f"For {about.target}: {target.about}."
    fused = "fused (one rounding)" if target.fused else "a product and a sum (two roundings)"
    yield f"Numbers are {about.dtype}. Multiply-adds are {fused}."
    if about.kernel_bits:
        yield "The results have the bits of kinetree's kernel if compiled with the flags below."
    elif about.dtype == FLOAT:
        yield "No operation is a double. The results differ from those in double by roundings."
        used = [f"{op} {ERRORS[op]}" for op in ERRORS if program.graph.count()[op]]
        if used:
            yield "Largest errors of functions, measured on samples of all floats, in units of the"
            yield f"last place: below {', '.join(used)}."
        if needs_sincos(program):
            yield f"Angles beyond {FAR[FLOAT]:.0f} rad: below {FAR_ERROR}, and slower."
    elif target.fused:
        yield "The results differ from kinetree's by roundings."
    else:
        yield "The results differ from the kernel's by roundings: its bits need fused operations,"
        yield "each of which would be a call of the C library. Functions such as exp and tanh, and"
        yield f"sin and cos of angles beyond {FAR[DOUBLE]:.0f} rad, are those of the C library."
    if about.cycles is not None:
        yield f"Estimate: about {about.cycles} cycles a call, by {target.costs},"
        yield "with code, constants and stack in memory without wait states, without interrupts."
    library = "" if about.dtype == FLOAT else ", without functions of the C library"
    yield f"Stack: about {about.stack} bytes a call: estimated, with a margin{library}."
    yield "Measure yours with -fstack-usage."
    yield "No heap, no static data that changes, no recursion: reentrant."
    yield f"Compiler: {about.compiler} {about.flags}"


def as_mapping(code: ExportedCode) -> Mapping[str, str | int | bool | None]:
    """The figures by name, for JSON."""
    return asdict(code.about)
