"""Inner loops that raise no floating-point flags.

NaN and infinity are answers of a kernel, never events: a single state, a batch, a thread and the
interpreter all stay silent. NumPy reads the processor's flags after a loop and would warn; the code
generator on the other hand may raise a flag by computing something early that nobody needs. So the
loop that NumPy calls puts the flags back as they were.
"""

# architecture -> (declarations, save, restore)
FLAGS = {
    "x86_64": (
        "declare void @llvm.x86.sse.stmxcsr(ptr)\ndeclare void @llvm.x86.sse.ldmxcsr(ptr)\n",
        "%flags = alloca i32\ncall void @llvm.x86.sse.stmxcsr(ptr %flags)",
        "call void @llvm.x86.sse.ldmxcsr(ptr %flags)",
    ),
    "aarch64": (
        "declare i64 @llvm.aarch64.get.fpsr()\ndeclare void @llvm.aarch64.set.fpsr(i64)\n",
        "%flags = call i64 @llvm.aarch64.get.fpsr()",
        "call void @llvm.aarch64.set.fpsr(i64 %flags)",
    ),
}
FLAGS["arm64"] = FLAGS["aarch64"]
UNKNOWN = ("", "", "")


def emit_quiet(triple: str, name: str = "kernel") -> str:
    """LLVM IR of `@{name}_quiet`: `@{name}_states`, after which the flags are as before."""
    declarations, save, restore = FLAGS.get(triple.partition("-")[0], UNKNOWN)
    arguments = "ptr %args, ptr %dimensions, ptr %steps, ptr %data"
    return (
        f"{declarations}define void @{name}_quiet({arguments}) {{\n"
        f"{save}\ncall void @{name}_states({arguments})\n{restore}\nret void\n}}\n"
    )
