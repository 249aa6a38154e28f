"""Compile in the background, while calls are answered by code that was there at once.

The code of a graph takes a tenth of a second to compile, and that of a large one many seconds. Its
kernel first walks through the operations of the graph (`llvm/walk.py`): that code is the same for
all kernels, so it is there as soon as the graph is, takes ten to fifty times as long, and gives
the same bits. Meanwhile one thread compiles the kernels that wait, one after the other; each kernel
then takes its own code. A batch so large that compiling is quicker waits for that. The queue keeps
no kernel alive: code for kernels that no longer exist is not made.

The thread and its helpers are daemons and leave one core free. When Python ends they stop after the
module that they compile; a process that forks waits for that module too, and its child goes on with
what is there. Another thread makes the code that all kernels share while the first one is traced,
and, where that is not on disk, once more with effort after that: both would share the interpreter.
Environment: KINETREE_BACKGROUND=0 lets every kernel wait for its own code.
"""

import atexit
import logging
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from kinetree.core.environment import setting
from kinetree.core.system import on_fork
from kinetree.engine.cache import folder
from kinetree.engine.call.threads import thread_count, threads
from kinetree.engine.compiler.graph import Graph
from kinetree.engine.compiler.store import digest
from kinetree.engine.llvm import engine
from kinetree.engine.llvm.programs import Programs
from kinetree.errors import CompileError

if TYPE_CHECKING:
    from kinetree.engine.compiler.program import Program

log = logging.getLogger(__name__)

COMPILE_S_PER_NODE = 1.8e-4  # s of one core to compile a node of a graph
WALK_S_PER_STEP = 1e-9  # s of one core to walk through a node for one of many states
LONGEST_END_S = 0.4  # s of compiling for which the end of Python may wait
USUAL_ROUNDS = 10  # of loops that may have many more
LONGEST_WAIT_S = 0.05  # s that a kernel may take to be compiled before it has to answer first
LONGEST_DELAY_S = 2.0  # s that effort on shared code waits for the first kernel; Talos takes 1.4


class Job:
    """A graph that is compiled once for all that wait for its code."""

    __slots__ = ("_modules", "_offered", "begun", "done", "key", "programs", "then")

    def __init__(self, key: str) -> None:
        self.key, self.begun, self.done = key, False, threading.Event()
        self.programs: list[weakref.ref[Programs]] = []
        self.then: list[Callable[[], None]] = []
        self._modules: Callable[[], None] | None = None  # compiles until no module is left
        self._offered = threading.Event()  # set when there are modules, and at the end

    def wanted(self) -> list[Programs]:
        """Return the programs that still exist."""
        return [x for reference in self.programs if (x := reference()) is not None]

    def help(self) -> None:
        """Compile modules beside the thread that runs the job, and wait for its end."""
        self._offered.wait()
        if self._modules is not None:
            self._modules()
        self.done.wait()

    def end(self) -> None:
        """Release all that wait."""
        self.done.set()
        self._offered.set()

    def _offer(self, modules: Callable[[], None]) -> None:
        self._modules = modules
        self._offered.set()

    def run(self) -> None:
        """Compile the graph, and let all that wait for it take the code."""
        token = engine.offer.set(self._offer)
        try:
            with _lock:
                wanted = self.wanted()
                if not wanted:
                    _jobs.pop(self.key, None)
                    return
            code = wanted[0].code("float64")
            with _lock:  # nothing joins from here on, and whoever finds no job finds the code
                _jobs.pop(self.key, None)
                for programs in self.wanted():
                    programs.adopt("float64", code)
            for act in self.then:
                act()
        finally:
            engine.offer.reset(token)
            with _lock:
                _jobs.pop(self.key, None)
            self.end()


_lock = threading.Lock()
_jobs: dict[str, Job] = {}  # by the hash of the graph
_worker: threading.Thread | None = None
_preparing: threading.Thread | None = None
_traced = threading.Event()  # the first kernel is traced, and answers


def enabled() -> bool:
    """Return True unless the environment switches compilation in the background off."""
    return setting("KINETREE_BACKGROUND") is not False


def pays(graph: Graph) -> bool:
    """Return True if the code of a graph takes so long that its kernel should answer before."""
    return enabled() and compile_seconds(graph) > LONGEST_WAIT_S


def is_long(graph: Graph, states: int) -> bool:
    """Return True if a batch takes longer before the code of the graph is there than to make it."""
    return WALK_S_PER_STEP * states * walked_length(graph) > compile_seconds(graph)


def compile_seconds(graph: Graph) -> float:
    """Return an estimate of the time to compile the code of a graph, on all cores.

    The bodies of a program are too short to be cut into modules.
    """
    cores = thread_count() if isinstance(graph, Graph) else 1
    return COMPILE_S_PER_NODE * length(graph) / cores


def length(graph: "Graph | Program") -> int:
    """Return how many nodes the code of a graph or a program has; those of a loop count once."""
    if not isinstance(graph, Graph):
        return sum(length(body.graph) for body in graph.bodies)
    loops = [graph.nodes[i].sweep.graph for i in graph.repeats()]
    return len(graph.nodes) + sum(map(length, loops))


def walked_length(graph: "Graph | Program") -> int:
    """Return how many nodes of a graph or a program are computed for a state, about."""
    if not isinstance(graph, Graph):
        lengths = [walked_length(body.graph) for body in graph.bodies]
        return sum(int(calls) * lengths[body] for body, calls, *_ in graph.runs)
    loops = [graph.nodes[i].sweep for i in graph.repeats()]
    rounds = [min(x.rounds, USUAL_ROUNDS) * walked_length(x.graph) for x in loops]
    return len(graph.nodes) + sum(rounds)


def prepare() -> None:
    """Make the code that all kernels share in a thread of its own, if that was not begun yet."""
    global _preparing
    with _lock:
        if _preparing is None and enabled():
            _preparing = threading.Thread(target=_prepare, name="kinetree start", daemon=True)
            _preparing.start()


def _prepare() -> None:
    try:
        with engine.calls:  # a fork waits, and finds the code and no module half imported
            # imported here, beside the imports of the thread that traces
            from kinetree.engine.call import vectorcall
            from kinetree.engine.llvm.walk import walker

            if not vectorcall.available():
                return
            vectorcall.shared.early()
            walker.early()
        _traced.wait(LONGEST_DELAY_S)
        for finish in (vectorcall.use_shared_code, walker.final):
            with threads(1):  # a core is for the thread that traces
                finish()
    except Exception as problem:  # it is raised again where the code is needed
        log.debug("kinetree could not make the code that kernels share: %s", problem)


def submit(programs: Programs, then: Callable[[], None]) -> None:
    """Compile the code of `programs` in the background, then call `then` in that thread.

    then: must not refer to `programs`, which would keep it alive.
    """
    global _worker
    _traced.set()
    key = digest(programs.graph)
    with _lock:
        job = _jobs.setdefault(key, Job(key))
        job.programs.append(weakref.ref(programs))
        job.then.append(then)
        if _worker is None:
            _worker = threading.Thread(target=_work, name="kinetree compiler", daemon=True)
            _worker.start()


def finish(programs: Programs) -> None:
    """Wait until the code of `programs` is compiled; an error of the compilation is raised here.

    A graph whose turn has not come is compiled by this thread, on all cores; with one that is being
    compiled it helps.
    """
    with _lock:
        job = _jobs.get(digest(programs.graph))
        mine = job is not None and not job.begun
        if job is not None and mine:
            job.begun = True
    if job is not None and mine:
        job.run()
    elif job is not None:
        job.help()
    programs.code("float64")  # there already, unless the background failed
    if (preparing := _preparing) is not None:
        _traced.set()
        preparing.join()


def _work() -> None:
    global _worker
    while True:
        with _lock:
            job = next((job for job in _jobs.values() if not job.begun), None)
            if job is None or engine.abandoned.is_set():
                _worker = None
                return
            job.begun = True
        # one core is for whatever the user does meanwhile; a pool would keep Python from ending
        count = thread_count() - 2
        helpers = [threading.Thread(target=job.help, daemon=True) for _ in range(count)]
        try:
            for helper in helpers:
                helper.start()
            with threads(1):
                job.run()
        except Exception as problem:  # it is raised again where the code is needed
            if not engine.abandoned.is_set():
                log.warning("kinetree could not compile in the background: %s", problem)
        for helper in helpers:
            helper.join()


def _end() -> None:
    """Let the thread stop after the module under way: LLVM must not run while the process ends.

    What is quickly compiled is, so that a short program finds it in the cache the next time.
    """
    left = LONGEST_END_S if folder.enabled() else 0.0
    _traced.set()
    if left and _preparing is not None:
        _preparing.join()
    for programs in [x for job in list(_jobs.values()) for x in job.wanted()[:1]]:
        left -= compile_seconds(programs.graph)
        if left < 0:
            break
        with suppress(CompileError):
            finish(programs)
    engine.abandoned.set()
    for thread in (_worker, _preparing):
        if thread is not None:
            thread.join()


def _forget() -> None:
    """Start anew in a forked child, where the thread does not exist."""
    global _lock, _worker, _preparing
    for job in _jobs.values():
        job.end()
    _lock, _worker, _preparing = threading.Lock(), None, None
    _jobs.clear()


atexit.register(_end)
on_fork(after_in_child=_forget)
