"""The C structures of XLA's foreign function interface ("FFI"), as far as they are used here.

XLA calls a handler with one pointer, to a call frame: the buffers of arguments and results, and
the functions that XLA offers. XLA also requests, once, the version of the interface that a handler
was written for. The fields below have the same places since version 0.1 of the interface.
"""

import ctypes
import functools
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from kinetree.errors import CompileError, need

METADATA = 1  # the extension that requests the version
INTERNAL = 13  # XLA's code for an internal error
HEAD = (("struct_size", ctypes.c_size_t), ("extension", ctypes.c_void_p))


class Buffer(ctypes.Structure):
    """An array: row-major numbers at `data`."""

    _fields_ = (
        *HEAD,
        ("dtype", ctypes.c_int),
        ("data", ctypes.c_void_p),
        ("rank", ctypes.c_int64),
        ("dims", ctypes.POINTER(ctypes.c_int64)),
    )

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of its axes."""
        return tuple(self.dims[: self.rank])


class Buffers(ctypes.Structure):
    """The arguments, or the results."""

    _fields_ = (
        *HEAD,
        ("size", ctypes.c_int64),
        ("types", ctypes.c_void_p),
        ("items", ctypes.POINTER(ctypes.POINTER(Buffer))),
    )

    def __iter__(self) -> Iterator[Buffer]:
        return (self.items[k].contents for k in range(self.size))


class CallFrame(ctypes.Structure):
    """The argument of a handler; attributes follow, which are not used."""

    _fields_ = (
        *HEAD,
        ("api", ctypes.c_void_p),
        ("context", ctypes.c_void_p),
        ("stage", ctypes.c_int),
        ("args", Buffers),
        ("rets", Buffers),
    )


def structure(name: str, *fields: tuple[str, Any]) -> Any:
    """A structure of these fields."""
    return type(name, (ctypes.Structure,), {"_fields_": fields})


SIZE, WORD, ADDRESS = ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p
Version = structure("Version", *HEAD, ("major", WORD), ("minor", WORD))
# the version and traits that a handler reports, and the request for them
Metadata = structure(
    "Metadata", ("struct_size", SIZE), ("version", Version), ("traits", ctypes.c_uint32)
)
MetadataExtension = structure(
    "MetadataExtension",
    ("struct_size", SIZE),
    ("type", WORD),
    ("next", ADDRESS),
    ("metadata", ctypes.POINTER(Metadata)),
)
# the beginning of the table of functions that XLA offers
FUNCTIONS = ("internal", "error_create", "error_message", "error_destroy", "register", "stream_get")
Api = structure("Api", *HEAD, ("version", Version), *((name, ADDRESS) for name in FUNCTIONS))
# the arguments of `error_create`, and of `stream_get`, which fills in the stream
ErrorRequest = structure("ErrorRequest", *HEAD, ("message", ctypes.c_char_p), ("code", WORD))
StreamRequest = structure("StreamRequest", *HEAD, ("context", ADDRESS), ("stream", ADDRESS))

HANDLER = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(CallFrame))
FUNCTION = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)


@functools.cache
def version() -> tuple[int, int]:
    """The version of the interface that the installed jaxlib has, from its own header."""
    folder = Path(need("jax", "jax", "arrays of JAX").ffi.include_dir())
    header = (folder / "xla" / "ffi" / "api" / "c_api.h").read_text("utf8")
    numbers = [
        re.search(rf"#define XLA_FFI_API_{part}\s+(\d+)", header) for part in ("MAJOR", "MINOR")
    ]
    if None in numbers:
        raise CompileError(
            f"{folder} does not define the version of XLA's foreign function interface; expected "
            "XLA_FFI_API_MAJOR and _MINOR. Please report the version of jaxlib."
        )
    major, minor = (int(x[1]) for x in numbers)  # type: ignore[index]
    return major, minor


def python_handler(run: Callable[[CallFrame], None]) -> Any:
    """Return a handler that runs Python and waits for the interpreter's lock on each call."""

    def handle(frame: Any) -> int | None:
        frame = frame.contents
        if answered(frame):
            return None
        try:
            run(frame)
        except BaseException as problem:
            return failure(frame, f"{type(problem).__name__}: {problem}")
        return None

    return HANDLER(handle)


def answered(frame: CallFrame) -> bool:
    """Answer a request for the version; return False if the call is another one."""
    if not frame.extension:
        return False
    asked = MetadataExtension.from_address(frame.extension)
    if asked.type != METADATA:
        return False
    asked.metadata.contents.version.major, asked.metadata.contents.version.minor = version()
    asked.metadata.contents.traits = 0
    return True


def failure(frame: CallFrame, message: str) -> int | None:
    """An error that XLA raises in the caller."""
    request = ErrorRequest(ctypes.sizeof(ErrorRequest), None, message.encode(), INTERNAL)
    return FUNCTION(Api.from_address(frame.api).error_create)(ctypes.addressof(request))


def stream(frame: CallFrame) -> int:
    """The GPU's stream on which XLA wants the work to be queued."""
    request = StreamRequest(ctypes.sizeof(StreamRequest), None, frame.context, None)
    problem = FUNCTION(Api.from_address(frame.api).stream_get)(ctypes.addressof(request))
    if problem:
        raise CompileError("XLA gave no stream for a kernel on the GPU.")
    return request.stream or 0
