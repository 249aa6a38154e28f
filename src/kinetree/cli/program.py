"""The program itself: it runs a command, reports errors in one paragraph and sets the exit code."""

import atexit
import gc
import logging
import os
import re
import sys
import threading
import time
import warnings
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

from kinetree.cli.options import STREAM
from kinetree.cli.writer import ERROR, WARNING, notify
from kinetree.core import system
from kinetree.core.text import nearest
from kinetree.errors import KinetreeError, KinetreeWarning, options

if TYPE_CHECKING:
    from cyclopts import CycloptsError

FAULT, INTERRUPTED, NO_READER = 2, 130, 141  # exit codes; those of signals are 128 + their number
INTERRUPT_WAIT_S = 0.5  # that Python has to raise KeyboardInterrupt by itself
COLLECT_EVERY = 100_000  # new objects; Python's 700 take 20 ms of a start, which makes no garbage
CLEAN = b"\r\x1b[2K\x1b[?25h"  # clear the line of a progress display and show the cursor again


def main() -> None:
    """Run the command line; a known error is one paragraph on stderr and exit code 2."""
    gc.set_threshold(COLLECT_EVERY)
    atexit.register(gc.freeze)  # at exit Python searches all objects for cycles, which takes 50 ms
    system.ready_output()
    try:
        try:
            run(sys.argv[1:])
        finally:
            sys.stdout.flush()  # so that an error in writing is reported here
    except KinetreeError as error:
        end(FAULT, str(error))
    except KeyboardInterrupt:
        end(INTERRUPTED, "interrupted")
    except SystemExit as error:  # rich exits with code 1 on a broken pipe; 1 is a verdict here
        broken = isinstance(error.__context__, OSError) and system.reader_is_gone(error.__context__)
        sys.exit(NO_READER if broken else error.code)
    except OSError as error:
        drop_output()
        if system.reader_is_gone(error):  # end without a message
            sys.exit(NO_READER)
        end(FAULT, str(error))  # such as a full disk, or a folder without read permission


def run(words: list[str]) -> None:
    """Run the command that the words name; wrong usage ends the program like any other error."""
    from cyclopts import CycloptsError

    from kinetree.cli.app import NAMES, app, register
    from kinetree.cli.options import digest

    warnings.filterwarnings("always", category=KinetreeWarning)
    warnings.showwarning = show_warning
    logging.lastResort = LogLines(logging.WARNING)
    end_promptly()
    if words and words[0] in NAMES:
        register(words[0])
        options.update(
            name for x in app[words[0]].assemble_argument_collection() for name in x.names
        )
    else:
        register()
    try:
        app(digest(words), exit_on_error=False, print_error=False)
    except CycloptsError as error:
        end(FAULT, wrong_usage(error, words))


def wrong_usage(error: "CycloptsError", words: list[str]) -> str:
    """What is wrong with the words, and where the right ones are explained."""
    from cyclopts import MissingArgumentError, UnusedCliTokensError

    from kinetree.cli.app import NAMES, synonyms

    text, command = re.sub(r"\s*\n\s*", " ", str(error)).strip().replace(STREAM, "-"), words[0]
    if command not in NAMES:
        meant = synonyms.get(command.lower())
        hint = f" Did you mean {meant!r}?" if meant else nearest(command, NAMES)
        return f"there is no command '{command}'.{hint} kinetree --help lists the commands."
    if isinstance(error, UnusedCliTokensError):
        left = " ".join(error.unused_tokens or ()).replace(STREAM, "-")
        text = f"Unexpected words: {left}."
    page = f"See kinetree {command} --help"
    if isinstance(error, MissingArgumentError) and any(x.startswith("--") for x in words):
        page += "; --q and other lists take all words up to the next option"
    return f"{text} {page}."


def end(code: int, message: str) -> NoReturn:
    """Print a message on stderr and exit."""
    notify(message, ERROR)
    sys.exit(code)


def drop_output() -> None:
    """Discard what stdout has buffered, so that Python does not try to write it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def show_warning(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, *_: Any
) -> None:
    """Print a warning of kinetree as one paragraph, any other as Python prints it."""
    if issubclass(category, KinetreeWarning):
        notify(str(message), WARNING)
    else:
        print(warnings.formatwarning(message, category, filename, lineno), end="", file=sys.stderr)


class LogLines(logging.Handler):
    """Print what the library logs as one paragraph, in the words of the command line."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print one message, whose first word can be the name of the program."""
        notify(record.getMessage().removeprefix("kinetree "), WARNING)


def end_promptly() -> None:
    """End the program within a second of Ctrl-C, even inside compiled code.

    Python raises KeyboardInterrupt between two of its own instructions. While LLVM compiles a large
    robot there are none for seconds. So the signal also wakes a thread, through a pipe; if Python
    has not handled the signal after INTERRUPT_WAIT_S, that thread ends the process. Call this once,
    in the main thread.
    """
    noticed = threading.Event()
    stderr = sys.stderr.fileno()  # taken now: progress displays replace sys.stderr

    def handler(number: int, frame: FrameType | None) -> None:
        noticed.set()
        raise KeyboardInterrupt

    def listen() -> None:
        while True:
            while wait() != system.INTERRUPT:
                pass
            time.sleep(INTERRUPT_WAIT_S)
            if not noticed.is_set():
                clean = CLEAN if os.isatty(stderr) else b""
                os.write(stderr, clean + b"kinetree: interrupted\n")
                os._exit(INTERRUPTED)
            noticed.clear()  # Python handled this signal; the next one needs watching again

    wait = system.on_interrupt(handler)
    threading.Thread(target=listen, daemon=True, name="interrupt").start()
