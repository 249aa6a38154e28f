"""One module per question, each with `ask(robot, effort) -> Answer`.

Every question about every robot runs in a process of its own, so that a peer's threads, allocations
or crashes touch nothing else.
"""

QUESTIONS = (
    "imports",
    "operations",
    "latency",
    "calls",
    "throughput",
    "threads",
    "simulation",
    "step",
    "contact",
    "constrained",
    "iftomm",
    "functions",
    "widths",
    "compile",
    "growth",
    "derivatives",
    "task_space",
    "time_optimal",
    "optimal",
    "tensors",
)
OF_NO_ROBOT = ("imports", "functions", "widths")
# robots of questions that are not asked about all: some of them, or mechanisms of their own, which
# code makes; see benchmarks/mechanisms.py and examples/iftomm
OWN_ROBOTS = {
    "calls": ("panda",),
    "simulation": ("panda",),
    "step": ("panda",),
    "constrained": ("panda", "talos"),
    "task_space": ("panda", "ur5"),
    "time_optimal": ("panda", "ur5"),
    "optimal": ("panda", "talos"),
    "growth": ("snake", "chain", "tree", "legs"),
    "contact": ("go1", "g1"),
    "iftomm": ("a01_pendulum", "a02_four_bars", "a03_squeezer", "a04_bricard", "a05_governor"),
}
# questions whose peers need other versions: the ending of the environment's folder
ENVIRONMENTS = {"optimal": "-solvers"}
