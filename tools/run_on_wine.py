"""Run kernels as Windows programs under Wine and compare every bit with this machine.

    python tools/run_on_wine.py
    python tools/run_on_wine.py panda.inverse_dynamics humanoid.forward_dynamics

The kernels are compiled for x86_64-pc-windows-msvc, linked by MinGW into a program, and run under
Wine: single states and a batch, in float64 and float32. The program reads states and writes
results as bytes. It also sets every register that Windows wants preserved (rbx, rbp, rsi, rdi, r12
to r15, xmm6 to xmm15) before each call and compares them after it. Large stack frames call the
system's __chkstk.

Needs x86-64 with AVX2, and the packages wine64 and gcc-mingw-w64-x86-64 of Debian or the like.
This proves the calling convention and the bits; the loader of LLVM, Python and NumPy of Windows
are not run.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np

import kinetree as kt
from kinetree.engine.compiler.graph import Graph
from kinetree.engine.llvm import engine
from kinetree.engine.llvm.compiled_graph import CompiledGraph
from kinetree.engine.llvm.target import Target

WINDOWS = Target("avx2", 4, 8, "haswell", "", "x86_64-pc-windows-msvc")
CASES = (
    "planar_2r.mass_matrix panda.inverse_dynamics panda.forward_dynamics panda.regressor "
    "ur5e.forward_dynamics_derivatives quadruped.forward_dynamics humanoid.forward_dynamics "
    "humanoid.inverse_dynamics_derivatives hand.mass_matrix"
).split()
STATES = 203
COMPILER = "x86_64-w64-mingw32-gcc"

MARKED = ("rbx", "rbp", "rsi", "rdi", "r12", "r13", "r14", "r15")
VECTORS = range(6, 16)

MAIN = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int _fltused = 0;  /* Microsoft's compilers ask for this name wherever floats are used */
void kernel_at(void **arrays);
void kernel_quiet(void **arrays, const long long *sizes, const long long *steps, void *data);
long long checked(void *function, void *a, const void *b, const void *c, void *d);

int main(int count, char **words)
{
    const int arrays = atoi(words[3]), inputs = atoi(words[4]), states = atoi(words[5]);
    const int size = atoi(words[6]), axes = atoi(words[7]);
    FILE *in = fopen(words[1], "rb"), *out = fopen(words[2], "wb");
    void *at[32], *each[32];
    long long bytes[32], steps[128], sizes[1], changed = 0;
    if (!in || !out || sizeof(long) != 4) return 2;
    for (int k = 0; k < arrays; k++) {
        bytes[k] = (long long)size * atoll(words[8 + k]);
        at[k] = calloc(states, bytes[k]);
        if (k < inputs && fread(at[k], bytes[k], states, in) != (size_t)states) return 3;
    }
    for (int i = 0; i < states; i++) {
        for (int k = 0; k < arrays; k++) each[k] = (char *)at[k] + i * bytes[k];
        changed |= checked((void *)kernel_at, each, 0, 0, 0);
    }
    for (int k = inputs; k < arrays; k++) {
        fwrite(at[k], bytes[k], states, out);
        memset(at[k], 0, states * bytes[k]);
    }
    for (int k = 0; k < arrays + axes; k++) steps[k] = atoll(words[8 + arrays + k]);
    sizes[0] = states;  /* the sizes of the other axes are part of the code */
    changed |= checked((void *)kernel_quiet, at, sizes, steps, 0);
    for (int k = inputs; k < arrays; k++) fwrite(at[k], bytes[k], states, out);
    fclose(out);
    if (changed) printf("registers changed: %llx\\n", changed);
    return changed != 0;
}
"""


def main(cases: list[str]) -> int:
    """Run the cases; return the number of those that differ."""
    missing = [x for x in ("wine", COMPILER) if shutil.which(x) is None]
    if missing:
        print(f"skipped: {' and '.join(missing)} not installed; see the top of {__file__}")
        return 0
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    wrong = 0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "main.c").write_text(MAIN, encoding="utf-8")
        (folder / "checked.s").write_text(checked_call(), encoding="utf-8")
        # the import library of MinGW leaves out this name of ntdll.dll
        (folder / "stack.def").write_text("LIBRARY ntdll.dll\nEXPORTS\n__chkstk\n")
        words = ["x86_64-w64-mingw32-dlltool", "-d", "stack.def", "-l", "stack.a"]
        subprocess.run(words, cwd=folder, check=True)
        environment = os.environ | {"WINEPREFIX": str(folder / "wine"), "WINEDEBUG": "-all"}
        subprocess.run(["wine", "hostname"], env=environment, capture_output=True, check=False)
        for case in cases:
            for dtype in ("float64", "float32"):
                verdict = run(case, dtype, folder, environment)
                wrong += verdict != "equal bits"
                print(f"{case:45} {dtype}  {verdict}", flush=True)
        subprocess.run(["wineserver", "-k"], env=environment, check=False)
    print(f"{wrong} of {2 * len(cases)} differ")
    return wrong


def run(case: str, dtype: str, folder: Path, environment: dict[str, str]) -> str:
    """Compile, link and run one kernel; return "equal bits" or what is wrong."""
    robot, quantity = case.split(".")
    kernel = getattr(getattr(kt.robots, robot)(), quantity)
    graph = kernel.graph
    program = build(graph, dtype, folder)
    inputs = states(graph, dtype)
    (folder / "in").write_bytes(b"".join(x.tobytes() for x in inputs))
    ports = (*graph.inputs, *graph.outputs)
    size = np.dtype(dtype).itemsize
    axes = [s for port in ports for s in np.zeros(port.shape, dtype).strides]
    words = [len(ports), len(graph.inputs), STATES, size, len(axes)]
    words += [port.size for port in ports]
    words += [size * port.size for port in ports] + axes
    done = subprocess.run(
        ["wine", str(program), "in", "out", *map(str, words)],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        return f"ended with {done.returncode}: {(done.stdout + done.stderr).strip()[-200:]}"
    found = (folder / "out").read_bytes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = kernel(*inputs)
    expected = expected if isinstance(expected, tuple) else (expected,)
    bits = b"".join(np.ascontiguousarray(x).tobytes() for x in expected)
    halves = found[: len(bits)] == bits, found[len(bits) :] == bits
    return "equal bits" if all(halves) else f"bits differ: single, batch = {halves}"


def build(graph: Graph, dtype: str, folder: Path) -> Path:
    """Make the program of a kernel: objects of LLVM, linked by MinGW."""
    programs = CompiledGraph(graph)
    programs.target = WINDOWS
    parts = [engine.assemble(programs.text(dtype), WINDOWS)]
    files = [folder / f"part{k}.obj" for k in range(len(parts))]
    for file, part in zip(files, parts, strict=True):
        file.write_bytes(part)
    made = folder / "kernel.exe"
    words = [COMPILER, "-O1", "-w", "main.c", "checked.s", *map(str, files), "stack.a"]
    subprocess.run([*words, "-o", str(made)], cwd=folder, check=True)
    return made


def states(graph: Graph, dtype: str) -> list[np.ndarray]:
    """States for every input, the same in every run."""
    rng = np.random.default_rng(21)
    found = [rng.normal(size=(STATES, *port.shape)) for port in graph.inputs]
    return [x.astype(dtype) for x in found]


def checked_call() -> str:
    """Assembly of `checked`, which calls a function and returns a bit for each changed register."""
    room = 32 + 16 * len(VECTORS) + 8  # space of the callee, saved vectors, alignment
    lines = [".globl checked", "checked:", *(f"push %{r}" for r in MARKED), f"sub ${room}, %rsp"]
    lines += [f"movups %xmm{v}, {32 + 16 * k}(%rsp)" for k, v in enumerate(VECTORS)]
    fourth = room + 8 * len(MARKED) + 8 + 32
    lines += ["mov %rcx, %rax", "mov %rdx, %rcx", "mov %r8, %rdx", "mov %r9, %r8"]
    lines += [f"mov {fourth}(%rsp), %r9"]
    lines += [f"movabs ${0x1234567800000000 + k}, %{r}" for k, r in enumerate(MARKED)]
    for v in VECTORS:
        lines += [f"movabs ${0x7654321000000000 + v}, %r10", f"movq %r10, %xmm{v}"]
        lines += [f"punpcklqdq %xmm{v}, %xmm{v}"]
    lines += ["call *%rax", "xor %eax, %eax"]
    for k, r in enumerate(MARKED):
        lines += [f"movabs ${0x1234567800000000 + k}, %r10", f"cmp %{r}, %r10", f"je 1{k}f"]
        lines += [f"or ${1 << k}, %eax", f"1{k}:"]
    for k, v in enumerate(VECTORS):
        lines += [f"movabs ${0x7654321000000000 + v}, %r10", f"movq %xmm{v}, %r11"]
        lines += ["cmp %r11, %r10", f"jne 2{k}f", f"psrldq $8, %xmm{v}", f"movq %xmm{v}, %r11"]
        lines += ["cmp %r11, %r10", f"je 3{k}f", f"2{k}:", f"or ${256 << k}, %eax", f"3{k}:"]
    lines += [f"movups {32 + 16 * k}(%rsp), %xmm{v}" for k, v in enumerate(VECTORS)]
    lines += [f"add ${room}, %rsp", *(f"pop %{r}" for r in reversed(MARKED)), "ret"]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(bool(main(sys.argv[1:] or list(CASES))))
