import re

import llvmlite.binding as llvm
import pytest
from llvm_graphs import chain
from llvm_harness import HOST, machine, verified

from kinetree.engine.llvm.emit import emit
from kinetree.engine.llvm.target import Target, families, host_target
from kinetree.errors import InputError

llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()

PRESENT = frozenset(feature for feature, there in llvm.get_host_cpu_features().items() if there) | (
    {"neon"} if HOST.triple.startswith(("aarch64", "arm64")) else frozenset()
)
ELSEWHERE = [
    Target("neon", 2, 4, "cortex-a76", "+neon", "aarch64-unknown-linux-gnu"),
    Target("neon", 2, 4, "apple-m1", "", "arm64-apple-darwin23"),
    Target("avx2", 4, 8, "haswell", "", "x86_64-pc-windows-msvc"),
    Target("avx512", 8, 16, "skylake-avx512", "", "x86_64-unknown-linux-gnu"),
    Target("sse2", 2, 4, "x86-64", "", "x86_64-unknown-linux-gnu"),
]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("target", ELSEWHERE, ids=lambda t: f"{t.name}-{t.triple}")
def test_code_for_other_machines_needs_few_functions(target: Target, dtype: str) -> None:
    module = verified(emit(chain(), target, dtype, "k"))
    text = machine(target).emit_assembly(module)
    called = set(re.findall(r"(?m)^\s+(?:callq?|bl)\s+_?(\w+)", text))
    assert any(name.startswith("k_sincos") for name in called)
    foreign = {name for name in called if not name.startswith("k_")}
    # large angles, and fused products of a processor that has none, are left to the C library
    assert foreign <= {"sin", "cos"} | ({"fma", "fmaf"} if target.name == "sse2" else set())


def test_a_narrower_family_can_be_asked_for(monkeypatch) -> None:
    able = [name for name, _ in families(PRESENT)]
    for name in able:
        monkeypatch.setenv("KINETREE_TARGET", name)
        found = host_target()
        assert found == host_target(name)
        assert (found.name, found.triple) == (name, HOST.triple)
        assert found.lanes32 == 2 * found.lanes64
    monkeypatch.setenv("KINETREE_TARGET", "")
    assert host_target() == host_target("")


def test_a_family_of_another_processor_is_refused(monkeypatch) -> None:
    foreign = "neon" if HOST.triple.startswith("x86_64") else "avx2"
    monkeypatch.setenv("KINETREE_TARGET", foreign)
    with pytest.raises(InputError):
        host_target()


@pytest.mark.parametrize(
    ("triple", "cpu", "features"),
    [
        ("riscv64-unknown-linux-gnu", "generic-rv64", "+m,+a,+f,+d"),
        ("powerpc64le-unknown-linux-gnu", "ppc64le", ""),
        ("s390x-unknown-linux-gnu", "z13", ""),
    ],
)
def test_the_generic_form_has_code_for_other_architectures(triple, cpu, features) -> None:
    """Two lanes, and every fused product is an instruction of the processor, not a call."""
    target = Target("generic", 2, 4, cpu, features, triple)
    try:
        generator = machine(target)
    except RuntimeError:
        pytest.skip(f"this llvmlite has no code generator for {triple.partition('-')[0]}")
    text = generator.emit_assembly(verified(emit(chain(), target, "float64", "k")))
    called = set(re.findall(r"(?m)^\s+(?:call|bl|brasl\s+%r14,)\s+(\w+)", text))
    assert "fma" not in called
    assert re.search(
        r"(?m)^\s+(fn?m(add|sub)(\.d)?|xsn?m(add|sub)\w+|xvn?m\w+|m[as]db?r|vfm[as]db)\s", text
    )
