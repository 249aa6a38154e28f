"""Ctrl-C ends the program within a second, also where it is deep in compiled code.

Python raises KeyboardInterrupt between two of its own instructions; while LLVM compiles a large
robot there are none for a while. The signal itself is noticed at once, through a socket that a
thread listens to. Where Python has not taken notice soon, that thread ends the process.
"""

import os
import signal
import socket
import sys
import threading
import time
from types import FrameType

from kinetree.cli import INTERRUPTED

PATIENCE = 0.5  # s that Python has to notice by itself
CLEAN = b"\r\x1b[2K\x1b[?25h"  # without what showed progress, and with the cursor that it hid


def end_promptly() -> None:
    """Watch for SIGINT from now on; in the main thread, once."""
    noticed = threading.Event()
    heard, told = socket.socketpair()
    told.setblocking(False)
    words = sys.stderr.fileno()  # now: what shows progress puts something else in its place

    def handler(number: int, frame: FrameType | None) -> None:
        noticed.set()
        raise KeyboardInterrupt

    def listen(heard: socket.socket, told: socket.socket) -> None:
        # `told` is an argument so that it stays open while the thread lives
        while True:
            while heard.recv(1) != bytes([signal.SIGINT]):
                pass
            time.sleep(PATIENCE)
            if not noticed.is_set():
                clean = CLEAN if os.isatty(words) else b""
                os.write(words, clean + b"kinetree: interrupted\n")
                os._exit(INTERRUPTED)
            noticed.clear()  # Python took notice; it may have to once more

    signal.signal(signal.SIGINT, handler)
    signal.set_wakeup_fd(told.fileno(), warn_on_full_buffer=False)
    threading.Thread(target=listen, args=(heard, told), daemon=True, name="interrupt").start()
