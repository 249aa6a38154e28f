"""Memory of large results, kept warm: a pool of buffers that results take and give back.

A new array of more than some kilobytes consists of pages that the system clears at their first
write, which takes as long as computing the numbers in it. Results of kernels from `LEAST` bytes on
therefore use the memory of earlier results that no longer exist. To Python they are ordinary arrays
that own their memory: NumPy lets every array name the functions that allocate and free its data (a
"handler"), and calls ours when the array itself is freed, that is when neither a view nor a buffer
refers to it. Until then its memory is in no pool, so no memory is ever in two results.

The pool keeps at most `limit()` bytes that no result uses, the newest ones; the environment
variable KINETREE_BUFFERS sets that number in MB, and 0 or "off" turns the pool off. Before fresh
memory is taken, the oldest buffers are freed until results and buffers together have at most WARM
bytes more than all results had at their peak, and further ones where the system refuses. Large
buffers beyond WARM are marked on Linux (MADV_FREE): the system takes their pages when memory is
short; otherwise they are used again without a page fault. Where memory cannot be marked, the pool
keeps WARM bytes.

Functions of the pool are called with the GIL, which makes them safe for threads; a forked child has
a copy of its own. Fresh memory comes from NumPy's default handler, which asks for huge pages.
"""

import ctypes
from typing import TYPE_CHECKING

from kinetree.core.environment import setting
from kinetree.core.system import madvise
from kinetree.engine.call import c_api as abi
from kinetree.engine.call.fastcall import ROWS
from kinetree.engine.llvm.engine import Code

if TYPE_CHECKING:
    from kinetree.engine.call.blocks import Function

LEAST = 32 * 1024  # bytes of a result from which the pool pays
WARM = 128_000_000  # bytes that are kept on every system
# bytes that are kept by default where the system can take them: a humanoid with contacts, 4,096
# rollouts of 100 steps, has records of 780 MB
LAZY = 1_000_000_000
LEAST_LAZY = 4 << 20  # bytes of a buffer from which a call of the system pays; 32 are about WARM
MADV_FREE = 8

# words of a pool; pairs of address and size follow, the oldest first. LIVE and PEAK: bytes of all
# results now, and the most there ever were. ADVISE: address of `madvise`, 0 where there is none.
DEFAULT, IDLE, BOUND, COUNT, LIVE, PEAK, ADVISE = range(7)
FIRST, SLOTS = 7, 32
ALIGN, HEAD, PAGE = 64, 16, 4096  # before the data: the address of the block, and the data's size
ANY_PAGE = 1 << 16  # a multiple of the page size of every processor

# NumPy's handler: a name of 127 bytes, a version of one, then an allocator: five addresses
CONTEXT, ALLOCATE, ALLOCATE_ZEROS, CHANGE, FREE = (128 + 8 * k for k in range(5))
NAME, VERSION = b"kinetree", 1
CARRAY, OWNDATA = 0x0501, 0x0004


def emit_buffers() -> list[str]:
    """LLVM IR of the pool's functions and of `@new_array`."""
    copies = (
        "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)\n"
        "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)\n"
        "declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)\n"
    )
    functions = (emit_drop, emit_take, emit_zeros, emit_return, emit_change, emit_new)
    return [copies, *(emit() for emit in functions)]


def function(name: str, arguments: str, result: str = "ptr") -> "Function":
    """Return a new function of the pool."""
    from kinetree.engine.call.blocks import Function  # not for code that is on disk

    return Function(name, arguments, result)


def slot(f: "Function", index: str | int) -> str:
    """Return the place of a pair in the pool."""
    return f.at("%pool", f.add(FIRST, f.mul(index, 2)), "i64")


def remove(f: "Function", index: str | int, size: str) -> None:
    """Remove a pair from the pool; those behind it move up."""
    count = f.let(f"sub i64 {f.item('i64', '%pool', COUNT)}, 1")
    place, following = slot(f, index), slot(f, f.add(index, 1))
    bytes_behind = f.mul(f.let(f"sub i64 {count}, {index}"), 16)
    f.call(
        "void",
        "@llvm.memmove.p0.p0.i64",
        f"ptr {place}",
        f"ptr {following}",
        f"i64 {bytes_behind}",
        "i1 false",
    )
    f.put("i64", count, "%pool", COUNT)
    idle = f.item("i64", "%pool", IDLE)
    f.put("i64", f.let(f"sub i64 {idle}, {size}"), "%pool", IDLE)


def free(f: "Function", data: str, size: str) -> None:
    """Return memory to NumPy's handler."""
    handler = f.item("ptr", "%pool", DEFAULT)
    context, release = f.load("ptr", handler, CONTEXT), f.load("ptr", handler, FREE)
    block, whole = f.item("ptr", data, -2), f.add(size, HEAD + ALIGN)
    f.call("void", release, f"ptr {context}", f"ptr {block}", f"i64 {whole}")


def count_result(f: "Function", size: str) -> None:
    """Add the bytes of a result to those of all results."""
    live, peak = f.add(f.item("i64", "%pool", LIVE), size), f.item("i64", "%pool", PEAK)
    f.put("i64", live, "%pool", LIVE)
    f.put("i64", f.choose(f.compare("ugt", "i64", live, peak), "i64", live, peak), "%pool", PEAK)


def emit_drop() -> str:
    """LLVM IR of `@pool_drop`: free the buffer that has been idle for longest."""
    f = function("pool_drop", "ptr %pool", "void")
    oldest = slot(f, 0)
    data, size = f.item("ptr", oldest, 0), f.item("i64", oldest, 1)
    remove(f, 0, size)
    free(f, data, size)
    f.give()
    return f.text()


def emit_take() -> str:
    """LLVM IR of `@pool_take`: memory for `size` bytes, of an earlier result if one fits."""
    f = function("pool_take", "ptr %pool, i64 %size")
    count = f.item("i64", "%pool", COUNT)
    # at most half as much again is wasted
    most = f.add(f.add("%size", f.let("lshr i64 %size, 1")), PAGE)
    with f.each(count) as k:  # the newest first: some of it may be in the processor's cache
        index = f.let(f"sub i64 {f.let(f'sub i64 {count}, {k}')}, 1")
        place = slot(f, index)
        size = f.item("i64", place, 1)
        enough = f.compare("uge", "i64", size, "%size")
        with f.when(f.both(enough, f.compare("ule", "i64", size, most))):
            data = f.item("ptr", place, 0)
            remove(f, index, size)
            count_result(f, size)
            f.give(data)
    rounded = f.let(f"and i64 {f.add('%size', PAGE - 1)}, {-PAGE}")
    live, peak = f.add(f.item("i64", "%pool", LIVE), rounded), f.item("i64", "%pool", PEAK)
    allowed = f.add(f.choose(f.compare("ugt", "i64", live, peak), "i64", live, peak), WARM)
    with f.repeat() as enough_free:
        total = f.add(live, f.item("i64", "%pool", IDLE))
        with f.when(f.compare("ule", "i64", total, allowed)):
            f.go(enough_free)
        f.call("void", "@pool_drop", "ptr %pool")
    handler = f.item("ptr", "%pool", DEFAULT)
    context, allocate = f.load("ptr", handler, CONTEXT), f.load("ptr", handler, ALLOCATE)
    with f.repeat() as allocated:
        block = f.call("ptr", allocate, f"ptr {context}", f"i64 {f.add(rounded, HEAD + ALIGN)}")
        with f.when(f.compare("ne", "ptr", block, "null")):
            f.go(allocated)
        with f.when(f.compare("eq", "i64", f.item("i64", "%pool", COUNT), 0)):
            f.give("null")
        f.call("void", "@pool_drop", "ptr %pool")
    behind = f.add(f.let(f"ptrtoint ptr {block} to i64"), HEAD + ALIGN - 1)
    data = f.let(f"inttoptr i64 {f.let(f'and i64 {behind}, {-ALIGN}')} to ptr")
    f.put("ptr", block, data, -2)
    f.put("i64", rounded, data, -1)
    count_result(f, rounded)
    f.give(data)
    return f.text()


def emit_zeros() -> str:
    """LLVM IR of `@pool_zeros`: the same for `count` numbers of `each` bytes, set to zero."""
    f = function("pool_zeros", "ptr %pool, i64 %count, i64 %each")
    size = f.mul("%count", "%each")
    data = f.call("ptr", "@pool_take", "ptr %pool", f"i64 {size}")
    with f.when(f.compare("ne", "ptr", data, "null")):
        f.call("void", "@llvm.memset.p0.i64", f"ptr {data}", "i8 0", f"i64 {size}", "i1 false")
    f.give(data)
    return f.text()


def emit_return() -> str:
    """LLVM IR of `@pool_return`: keep memory that no array uses any more, or free it."""
    f = function("pool_return", "ptr %pool, ptr %data, i64 %size", "void")
    with f.when(f.compare("eq", "ptr", "%data", "null")):
        f.give()
    size, bound = f.item("i64", "%data", -1), f.item("i64", "%pool", BOUND)
    f.put("i64", f.let(f"sub i64 {f.item('i64', '%pool', LIVE)}, {size}"), "%pool", LIVE)
    with f.when(f.compare("ugt", "i64", size, bound)):
        free(f, "%data", size)
        f.give()
    with f.repeat() as room:
        total = f.add(f.item("i64", "%pool", IDLE), size)
        fits = f.compare("ule", "i64", total, bound)
        count = f.item("i64", "%pool", COUNT)
        with f.when(f.both(fits, f.compare("slt", "i64", count, SLOTS))):
            f.go(room)
        f.call("void", "@pool_drop", "ptr %pool")
    place = slot(f, count)
    f.put("ptr", "%data", place)
    f.put("i64", size, place, 1)
    f.put("i64", f.add(count, 1), "%pool", COUNT)
    f.put("i64", total, "%pool", IDLE)
    advise = f.item("ptr", "%pool", ADVISE)
    known, large = f.compare("ne", "ptr", advise, "null"), f.compare("uge", "i64", size, LEAST_LAZY)
    with f.when(f.both(f.both(known, large), f.compare("ugt", "i64", total, WARM))):
        begin = f.let("ptrtoint ptr %data to i64")
        start = f.let(f"and i64 {f.add(begin, ANY_PAGE - 1)}, {-ANY_PAGE}")  # whole pages
        end = f.let(f"and i64 {f.add(begin, size)}, {-ANY_PAGE}")
        pages, length = f.let(f"inttoptr i64 {start} to ptr"), f.let(f"sub i64 {end}, {start}")
        f.call("i32", advise, f"ptr {pages}", f"i64 {length}", f"i32 {MADV_FREE}")
    f.give()
    return f.text()


def emit_change() -> str:
    """LLVM IR of `@pool_change`: another size with the same numbers, for `array.resize`."""
    f = function("pool_change", "ptr %pool, ptr %data, i64 %size")
    made = f.call("ptr", "@pool_take", "ptr %pool", "i64 %size")
    with f.when(f.compare("eq", "ptr", "%data", "null")):
        f.give(made)
    with f.when(f.compare("eq", "ptr", made, "null")):
        f.give("null")
    before = f.item("i64", "%data", -1)
    less = f.compare("ult", "i64", before, "%size")
    size = f.choose(less, "i64", before, "%size")
    arguments = (f"ptr {made}", "ptr %data", f"i64 {size}", "i1 false")
    f.call("void", "@llvm.memcpy.p0.p0.i64", *arguments)
    f.call("void", "@pool_return", "ptr %pool", "ptr %data", f"i64 {before}")
    f.give(made)
    return f.text()


def emit_new() -> str:
    """LLVM IR of `@new_array`: a new array, with memory of the pool if it is large."""
    arguments = "ptr %table, ptr %descr, i64 %ndim, ptr %shape, i64 %size"
    f = function("new_array", arguments)

    def row(name: str) -> str:
        return f.load("ptr", "%table", 8 * ROWS.index(name))

    def array(data: str, flags: int) -> str:
        f.call("void", row("Py_IncRef"), "ptr %descr")  # taken over by the array
        arguments = [f"ptr {row('ndarray')}", "ptr %descr", f"i32 {ndim}", "ptr %shape", "ptr null"]
        made = row("PyArray_NewFromDescr")
        return f.call("ptr", made, *arguments, f"ptr {data}", f"i32 {flags}", "ptr null")

    ndim = f.let("trunc i64 %ndim to i32")
    pool = row("pool")
    large = f.compare("uge", "i64", "%size", LEAST)
    off = f.compare("eq", "ptr", pool, "null")
    with f.when(f.either(f.opposite(large), off)):
        f.give(array("null", 0))
    data = f.call("ptr", "@pool_take", f"ptr {pool}", "i64 %size")
    with f.when(f.compare("eq", "ptr", data, "null")):
        f.give(array("null", 0))  # which sets Python's MemoryError
    made = array(data, CARRAY)
    with f.when(f.compare("eq", "ptr", made, "null")):
        f.call("void", "@pool_return", f"ptr {pool}", f"ptr {data}", "i64 %size")
        f.give("null")
    flags = f.let(f"or i32 {f.load('i32', made, abi.FLAGS)}, {OWNDATA}")
    f.do(f"store i32 {flags}, ptr {f.at(made, abi.FLAGS)}")
    handler = row("handler")
    f.call("void", row("Py_IncRef"), f"ptr {handler}")
    f.do(f"store ptr {handler}, ptr {f.at(made, abi.HANDLER)}")
    f.give(made)
    return f.text()


def limit() -> int:
    """Return the bytes that the pool may keep, from KINETREE_BUFFERS; 0: there is no pool."""
    chosen = setting("KINETREE_BUFFERS")
    if chosen is not None:
        return chosen
    return LAZY if madvise() else WARM


def make_pool(code: Code) -> tuple[int, int]:
    """Return the addresses of a new pool and of the capsule of its handler; (0, 0) for no pool.

    Both exist until the process ends, and so does the code of the handler: an array may be
    freed after everything else of Python.
    """
    bound = limit()
    if not bound or not abi.handlers_as_expected():
        return 0, 0
    pool = (ctypes.c_ssize_t * (FIRST + 2 * SLOTS))()
    pool[DEFAULT], pool[BOUND], pool[ADVISE] = abi.default_handler(), bound, madvise()
    handler = ctypes.create_string_buffer(NAME, FREE + 8)
    handler[127] = bytes([VERSION])
    words = ("pool_take", "pool_zeros", "pool_change", "pool_return")
    addresses = [ctypes.addressof(pool), *(code.address(word) for word in words)]
    for place, address in zip(range(CONTEXT, FREE + 8, 8), addresses, strict=True):
        ctypes.c_void_p.from_address(ctypes.addressof(handler) + place).value = address
    capsule = abi.new_handler(ctypes.addressof(handler))
    for kept in (pool, handler, capsule, code):
        abi.keep_forever(kept)
    _pools.append(pool)
    return ctypes.addressof(pool), id(capsule)


_pools: list[ctypes.Array[ctypes.c_ssize_t]] = []


def idle() -> tuple[int, int]:
    """Return how many buffers wait for a result, and their bytes."""
    return sum(pool[COUNT] for pool in _pools), sum(pool[IDLE] for pool in _pools)
