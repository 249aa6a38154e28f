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
    "functions",
    "exported_c",
    "widths",
    "compile",
    "growth",
    "derivatives",
    "task_space",
    "time_optimal",
    "optimal",
    "tensors",
)
OF_NO_ROBOT = ("imports", "functions", "exported_c", "widths")
# questions about mechanisms of their own, which code makes; see benchmarks/mechanisms.py
OWN_ROBOTS = {"growth": ("snake", "chain", "tree", "legs"), "contact": ("go1", "g1")}
# questions whose peers need other versions: the ending of the environment's folder
ENVIRONMENTS = {"optimal": "-solvers"}
