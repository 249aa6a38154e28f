"""Change every rounding that platforms may differ in, and compare the numbers of robots.

BLAS libraries sum products in different orders, with and without fused operations; libraries of
mathematical functions and NumPy's own vector code differ in the last bit; `sum` of Python adds
floats with a correction from version 3.12 on. The numbers of a model must not depend on any of
that. This tool imports kinetree with every `@`, `**` and `sum` of its source replaced, and the
functions of `math`, NumPy and `numpy.linalg` patched, so that results which are not exact move by
one unit in the last place, up or down at random. Then it prints a hash of the model of every robot
in the table of bits, and of its graphs:

    python tools/shake_rounding.py 0 > plain.txt      nothing is changed
    python tools/shake_rounding.py 1 > shaken.txt     seed 1
    python tools/shake_rounding.py 1 --places         lists where results were changed
    python tools/shake_rounding.py 1 --decisions      prints decisions instead of hashes

Decisions are what a rank decides: whether constraints are accepted, which equations are redundant,
which joints are independent, where the mechanism starts, which parameters are base parameters, and
what an identification finds: base parameters, friction laws, lag, verdict and intervals withheld.
There, results move by up to 8 units in the last place.

Extended precision of NumPy is 64, 80 or 128 bits wide, depending on the platform: `longdouble`
becomes float64 here.
"""

import ast
import builtins
import collections
import importlib.machinery
import math
import os
import random
import sys
import warnings
from typing import Any

import numpy as np

os.environ["KINETREE_CACHE"] = "off"

SEED = int(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 0
PLACES: collections.Counter[str] = collections.Counter()
MATH = (
    *("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "exp", "log", "pow", "hypot"),
    *("sinh", "cosh", "tanh", "dist", "expm1", "log1p", "log2", "log10", "cbrt"),
)
NUMPY = (
    *("sin", "cos", "tan", "arcsin", "arccos", "arctan", "arctan2", "exp", "log", "hypot"),
    *("tanh", "dot", "inner", "einsum", "vdot", "tensordot", "matmul", "power", "float_power"),
)
LINALG = (
    *("norm", "inv", "solve", "svd", "eigh", "eigvalsh", "det", "lstsq", "pinv", "qr"),
    *("cholesky", "cond", "eig", "eigvals", "matrix_rank"),
)
DECISIONS = "--decisions" in sys.argv
LARGEST_MOVE = 8 if DECISIONS else 1  # units in the last place
RODS = (1.8, 1.8 - 1e-6, 1.79, 0.7)  # m: the arm reaches 1.8 m
BASES = (1.1, 1.1 - 1e-6, 0.5, 0.1)  # m: the bars reach 1.1 m, and 0.1 m folded
IDENTIFIED = ("planar_2r", "scara", "cart_pole", "ur5e")
generator, numbers = random.Random(SEED), np.random.default_rng(SEED)


def moved(x: float) -> float:
    """Return a neighbour of a float; whole numbers and special values are exact everywhere."""
    x = float(x)
    if not math.isfinite(x) or x == round(x):
        return x
    way = math.inf if generator.random() < 0.5 else -math.inf
    for _ in range(generator.randint(1, LARGEST_MOVE)):
        x = math.nextafter(x, way)
    return x


def all_moved(x: np.ndarray) -> np.ndarray:
    """Return neighbours of floats, as `moved` does."""
    steps = numbers.integers(1, LARGEST_MOVE + 1, x.shape) * numbers.choice([-1, 1], x.shape)
    with np.errstate(invalid="ignore"):
        exact = ~np.isfinite(x) | (x == np.round(x))
        return np.where(exact, x, x + steps * np.spacing(x)).astype(x.dtype)


def place() -> None:
    """Note the line of kinetree that asked for a result."""
    frame = sys._getframe(1)
    while frame is not None and "kinetree" not in frame.f_code.co_filename:
        frame = frame.f_back  # type: ignore[assignment]
    if frame is not None:
        name = frame.f_code.co_filename.partition("kinetree/src/")[2] or frame.f_code.co_filename
        PLACES[f"{name[-60:]}:{frame.f_lineno}"] += 1


def shaken(result: Any) -> Any:
    """Return the result with its floats moved."""
    if isinstance(result, tuple):
        parts = [shaken(x) for x in result]
        return type(result)(*parts) if hasattr(result, "_fields") else tuple(parts)
    if isinstance(result, float | np.floating):
        place()
        return type(result)(moved(result))
    if isinstance(result, np.ndarray) and result.dtype.kind == "f":
        place()
        return all_moved(result)
    return result


def wrapped(function: Any) -> Any:
    """Return the function with its results moved."""

    def call(*args: Any, **options: Any) -> Any:
        return shaken(function(*args, **options))

    return call


def product(a: Any, b: Any) -> Any:
    """Return a @ b; entries that are sums of one product at most are exact and stay."""
    result = a @ b
    if getattr(result, "dtype", None) is None or np.asarray(result).dtype.kind != "f":
        return result
    terms = np.asarray(np.asarray(a) != 0, float) @ np.asarray(np.asarray(b) != 0, float)
    if (terms < 2).all():
        return result
    place()
    if np.ndim(result) == 0:
        return type(result)(moved(result))
    return np.where(terms > 1, all_moved(result), result)


def power(a: Any, b: Any) -> Any:
    """Return a ** b; powers of two are exact and stay."""
    inexact = isinstance(a, float) and isinstance(b, int | float) and math.frexp(a)[0] != 0.5
    return shaken(a**b) if inexact else a**b


def total(values: Any, start: Any = 0) -> Any:
    """Return the sum, moved if it has three floats or more."""
    values = list(values)
    result = builtins.sum(values, start)
    several = len([x for x in values if type(x) is float]) > 2
    return shaken(result) if several else result


class Rewrite(ast.NodeTransformer):
    """Replace operators and `sum` by functions of this file."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """Replace a @ b and a ** b."""
        self.generic_visit(node)
        names = {ast.MatMult: "_shaken_product", ast.Pow: "_shaken_power"}
        name = names.get(type(node.op))
        if name is None:
            return node
        call = ast.Call(ast.Name(name, ast.Load()), [node.left, node.right], [])
        return ast.copy_location(call, node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Replace sum(...)."""
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "sum":
            node.func = ast.copy_location(ast.Name("_shaken_sum", ast.Load()), node.func)
        return node


class Loader(importlib.machinery.SourceFileLoader):
    """Load a module of kinetree, rewritten."""

    def get_code(self, fullname: str) -> Any:
        """Compile the rewritten source; nothing is read from or stored on disk."""
        tree = Rewrite().visit(ast.parse(self.get_data(self.path), self.path))
        return compile(ast.fix_missing_locations(tree), self.path, "exec", dont_inherit=True)


class Finder(importlib.machinery.PathFinder):
    """Find the modules of kinetree."""

    @classmethod
    def find_spec(cls, fullname: str, path: Any = None, target: Any = None) -> Any:
        """Return the place of a module with the loader of this file."""
        if fullname.partition(".")[0] != "kinetree":
            return None
        spec = super().find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = Loader(spec.loader.name, spec.loader.path)
        return spec


def install() -> None:
    """Replace the operators and functions."""
    sys.meta_path.insert(0, Finder)
    hooks = {"_shaken_product": product, "_shaken_power": power, "_shaken_sum": total}
    for name, hook in hooks.items():
        setattr(builtins, name, hook)
    for module, names in ((math, MATH), (np, NUMPY), (np.linalg, LINALG)):
        for name in names:
            setattr(module, name, wrapped(getattr(module, name)))
    np.longdouble = np.float64  # type: ignore[misc,assignment]


def print_decisions() -> None:
    """Print what ranks decide about mechanisms and about parameters."""
    import kinetree as kt
    from kinetree import dynamics
    from kinetree.constraints import Couple, Loop, Rod
    from kinetree.errors import InputError

    def bars(base: float) -> Any:
        builder = kt.Builder("bars").link("base")
        for name, length in (("a", 0.3), ("b", 0.5), ("c", 0.3)):
            builder.link(name, m=1, com=(length / 2, 0, 0), I_com=0.01 * np.eye(3))
        builder.joint("ja", "revolute", "base", "a")
        builder.joint("jb", "revolute", "a", "b", at=(0.3, 0, 0))
        builder.joint("jc", "revolute", "base", "c", at=(base, 0, 0))
        builder.frame("fb", "b", (0.5, 0, 0)).frame("fc", "c", (0.3, 0, 0))
        return builder.build().constrained({"loop": Loop("fb", "fc", "axis")})

    arm = kt.robots.planar_2r()
    touching = {"a": Couple("joint1", {"joint2": 1}), "b": Couple("joint1", {"joint2": (1, 1)})}
    cases: dict[str, Any] = {name: getattr(kt.robots, name) for name in kt.robots.MECHANISMS}
    cases |= {f"rod {x}": lambda x=x: arm.constrained({"a": Rod("base", "tool", x)}) for x in RODS}
    cases |= {f"bars {x}": lambda x=x: bars(x) for x in BASES}
    cases["touching"] = lambda: arm.constrained(touching)
    hanging = kt.Builder("hanging").link("base").link("a", m=1, com=(0.1, 0, 0), I_com=np.eye(3))
    hanging.link("b", m=1, com=(0, 0.1, 0), I_com=np.eye(3)).joint("ball", "spherical", "base", "a")
    hanging.joint("float", "free", "base", "b").frame("x", "a", (0.3, 0, 0)).frame("y", "b")
    cases["hanging"] = lambda: hanging.build().constrained({"pin": Loop("x", "y", "axis")})
    for name, make in cases.items():
        try:
            robot = make()
        except InputError as problem:
            print(name, str(problem)[:150])
            continue
        given = robot.model.constraints
        print(name, given.structure(), given.home, robot.neutral().tolist())
    for name in IDENTIFIED:
        model = getattr(kt.robots, name)().model
        print(name, dynamics.base_parameters(model).kept)
    for clock in (1.0, 0.9):
        print_identification(clock)


def print_identification(clock: float) -> None:
    """Print what is decided about a recording whose clock has a scale."""
    import kinetree as kt
    from kinetree.identify import identify, make_recording, simulated_recording
    from kinetree.motion import excitation

    robot = kt.robots.planar_2r()
    rubbing = robot.with_friction({"joint1": kt.friction.Friction(0.3, 0.5)})
    data = simulated_recording(
        rubbing, excitation(robot, 8, 0.01, reach=1.0), encoder_noise=2e-5, torque_noise=0.05
    )
    found = identify(robot, make_recording(robot, clock * data.t, data.q, data.tau), folds=2)
    laws = [(x.friction, x.offset) for x in found.choices]
    late = found.lag is not None and found.lag.sure
    reasons = [(x.kind, x.joints) for x in found.verdict.reasons]
    print(clock, found.base.kept, laws, late, found.verdict.word, reasons, found.withheld)


def main() -> None:
    """Print hashes, or the places that were changed."""
    if SEED:
        install()
    warnings.simplefilter("ignore")
    if DECISIONS:
        return print_decisions()
    from kinetree.engine.kernels.compile import trace_quantity
    from kinetree.testing import bits

    for k, (name, make) in enumerate(bits.robots()):
        robot = make()
        print(name, bits.model_bits(robot.model), end=" ")
        for quantity in ("inverse_dynamics", "pose", *bits.QUANTITIES[k % 20 : k % 20 + 1]):
            if robot.n > 20:
                continue
            graph = trace_quantity(robot.model, quantity)
            numbers = sorted({node.number for node in graph.nodes if node.op == "const"})
            print(bits.digest([np.array(numbers)]), len(graph.nodes), end=" ")
        print(flush=True)
    if "--places" in sys.argv:
        for spot, count in sorted(PLACES.items()):
            print(spot, count)


if __name__ == "__main__":
    main()
