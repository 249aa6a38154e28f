"""Names that questions give to their rows and requirements look for."""

COLD, WARM = "cold compile", "load from disk"
FIRST, READY = "kinetree, first kernel of the process", "kinetree, LLVM initialised before"
FORBIDDEN = ("llvmlite", "sympy", "matplotlib", "mujoco")
HEAVY = "heavy packages that importing kinetree imports:"
