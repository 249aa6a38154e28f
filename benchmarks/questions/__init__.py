"""One module per question, each with `ask(robot, effort) -> Answer`.

Every question about every robot runs in a process of its own, so that a peer's threads, allocations
or crashes touch nothing else.
"""

QUESTIONS = (
    "imports",
    "operations",
    "latency",
    "throughput",
    "threads",
    "simulation",
    "step",
    "contact",
    "constrained",
    "compile",
    "derivatives",
    "optimal",
    "inverse_kinematics",
)
OF_NO_ROBOT = ("imports",)
# robots of questions that are not asked about all
OWN_ROBOTS = {
    "simulation": ("panda",),
    "step": ("panda",),
    "constrained": ("panda", "talos"),
    "optimal": ("panda", "talos"),
    "inverse_kinematics": ("panda",),
    "contact": ("go1", "g1"),
}
# questions whose peers need other versions: the ending of the environment's folder
ENVIRONMENTS = {"optimal": "-solvers"}
