"""A handler for XLA in machine code: from its call frame straight into a kernel's loop.

Buffers are read and written where XLA has them, without Python and its lock. Arguments either have
the leading axes of the results or none at all; the latter serve all states.
"""

from kinetree.backends import engine
from kinetree.backends.gufunc import Loop
from kinetree.compiler.graph import Graph
from kinetree.tensors.xla_frame import (
    METADATA,
    Buffer,
    Buffers,
    CallFrame,
    Metadata,
    MetadataExtension,
    Version,
)

SYMBOL = "kernel_xla"
BYTES = {"float32": 4, "float64": 8}

# the number of states: the product of the lengths of all axes before the last `core`
COUNT = """define internal i64 @states(ptr %buffer, i64 %core) {
entry:
  %rank.at = getelementptr i8, ptr %buffer, i64 RANK
  %rank = load i64, ptr %rank.at
  %dims.at = getelementptr i8, ptr %buffer, i64 DIMS
  %dims = load ptr, ptr %dims.at
  %axes = sub i64 %rank, %core
  br label %test
test:
  %k = phi i64 [ 0, %entry ], [ %next, %body ]
  %product = phi i64 [ 1, %entry ], [ %more, %body ]
  %on = icmp slt i64 %k, %axes
  br i1 %on, label %body, label %done
body:
  %length.at = getelementptr i64, ptr %dims, i64 %k
  %length = load i64, ptr %length.at
  %more = mul i64 %product, %length
  %next = add i64 %k, 1
  br label %test
done:
  ret i64 %product
}
""".replace("RANK", str(Buffer.rank.offset)).replace("DIMS", str(Buffer.dims.offset))


def code_handler(graph: Graph, loop: Loop, version: tuple[int, int]) -> tuple[int, engine.Code]:
    """The address of the handler, and what must be kept for as long as it may be called."""
    from kinetree.backends.llvm import host_target

    target = host_target()
    text = emit_handler(graph, loop.dtype, loop.address, version)
    code = engine.load(engine.assemble(text, target), target, [SYMBOL])
    return code.address(SYMBOL), code


def emit_handler(graph: Graph, dtype: str, address: int, version: tuple[int, int]) -> str:
    """LLVM IR of `ptr @kernel_xla(ptr frame)`, which calls the inner loop at `address`."""
    lines = [*answer(version), "run:"]
    for word, group in (("args", CallFrame.args), ("rets", CallFrame.rets)):
        lines += field(f"%{word}", "ptr", "%frame", group.offset + Buffers.items.offset)
    ports = [("args", k, port) for k, port in enumerate(graph.inputs)]
    ports += [("rets", k, port) for k, port in enumerate(graph.outputs)]
    core = [stride for _, _, port in ports for stride in strides(port.shape, BYTES[dtype])]
    lines += [
        f"%places = alloca [{len(ports)} x ptr]",
        f"%steps = alloca [{len(ports) + len(core)} x i64]",
        "%count = alloca i64",
    ]
    for i, (word, k, port) in enumerate(ports):
        lines += [
            *field(f"%buffer{i}", "ptr", f"%{word}", 8 * k),
            *field(f"%data{i}", "ptr", f"%buffer{i}", Buffer.data.offset),
            *put(f"%places.{i}", "ptr", f"%data{i}", "%places", i),
            f"%states{i} = call i64 @states(ptr %buffer{i}, i64 {len(port.shape)})",
            f"%single{i} = icmp eq i64 %states{i}, 1",
            f"%step{i} = select i1 %single{i}, i64 0, i64 {port.size * BYTES[dtype]}",
            *put(f"%steps.{i}", "i64", f"%step{i}", "%steps", i),
        ]
    for k, stride in enumerate(core, start=len(ports)):
        lines += put(f"%steps.{k}", "i64", str(stride), "%steps", k)
    lines += [
        f"store i64 %states{len(graph.inputs)}, ptr %count",
        f"call void inttoptr (i64 {address} to ptr)(ptr %places, ptr %count, ptr %steps, ptr null)",
        "ret ptr null",
    ]
    return f"{COUNT}define ptr @{SYMBOL}(ptr %frame) {{\nentry:\n" + "\n".join(lines) + "\n}\n"


def answer(version: tuple[int, int]) -> list[str]:
    """Answer the question for the version; anything else goes on to %run."""
    at = Metadata.version.offset
    return [
        *field("%extension", "ptr", "%frame", CallFrame.extension.offset),
        "%plain = icmp eq ptr %extension, null",
        "br i1 %plain, label %run, label %extended",
        "extended:",
        *field("%kind", "i32", "%extension", MetadataExtension.type.offset),
        f"%asked = icmp eq i32 %kind, {METADATA}",
        "br i1 %asked, label %metadata, label %run",
        "metadata:",
        *field("%answer", "ptr", "%extension", MetadataExtension.metadata.offset),
        *put("%major", "i32", str(version[0]), "%answer", at + Version.major.offset, "i8"),
        *put("%minor", "i32", str(version[1]), "%answer", at + Version.minor.offset, "i8"),
        *put("%traits", "i32", "0", "%answer", Metadata.traits.offset, "i8"),
        "ret ptr null",
    ]


def strides(shape: tuple[int, ...], size: int) -> list[int]:
    """Bytes between neighbours along each axis of a row-major array."""
    found = [size]
    for length in reversed(shape[1:]):
        found.insert(0, found[0] * length)
    return found[: len(shape)]


def field(name: str, kind: str, base: str, offset: int) -> list[str]:
    """Load what stands `offset` bytes after `base`."""
    place = f"{name}.from"
    return [
        f"{place} = getelementptr i8, ptr {base}, i64 {offset}",
        f"{name} = load {kind}, ptr {place}",
    ]


def put(name: str, kind: str, value: str, base: str, k: int, unit: str = "i64") -> list[str]:
    """Store a value `k` units after `base`."""
    place = f"{name}.to"
    return [
        f"{place} = getelementptr {unit}, ptr {base}, i64 {k}",
        f"store {kind} {value}, ptr {place}",
    ]
