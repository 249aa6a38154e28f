"""A step of radau.py in machine code: the same operations in the same order (step_code.py)."""

from collections.abc import Sequence

from kinetree.core.arrays import Array
from kinetree.engine.llvm.dense import DOUBLE
from kinetree.engine.llvm.numbers import Number
from kinetree.engine.llvm.text import number
from kinetree.simulate.core import radau
from kinetree.simulate.core.step_frame import BEGUN, REACHED, Code, cubic


def implicit_step(lanes: int) -> Code:
    """A step of radau.py from `x` with `rate0`, and its error."""
    c = Code(lanes, "implicit_step")
    h, t = c.get("length"), c.get("t")
    for i, share in enumerate(radau.C):
        c.set_time(1 + i, float(share), ends=share == 1)
    c.set_time(BEGUN, 0.0)
    c.evaluate_signals(BEGUN + 1, REACHED)
    matrices(c)
    guess(c, t, h)
    newton(c, h)
    with c.columns() as j:
        c.keep("end", j, c.of("x", j) + c.of("Z2", j))
    c.rate(3, c.rows["end"], c.rows["rate3"])
    with c.columns() as j:
        Z = [c.of(f"Z{i}", j) for i in range(3)]
        c.keep("a", j, (mixed(radau.ERROR, Z) + h * c.of("rate0", j)) / radau.MU)
        for i, weights in enumerate(radau.CUBIC):
            c.put(c.word["last"], c.plus(c.times(c.stride, i), j), mixed(weights, Z))
    c.product(c.matrices, c.stride, c.size, c.rows["a"], c.rows["b"])
    c.set("last_end", t + h)
    c.set("last_h", h)
    c.allowed("x", "end")
    with c.columns() as j:
        c.keep("a", j, c.of("b", j) / c.of("scale", j))
    wrong = c.called("sqrt", c.mean(c.squares("a")))
    c.set("wrong", c.chosen(c.is_set("solved"), wrong, float("inf")))
    return c


def mixed(weights: Array, parts: Sequence[Number]) -> Number:
    """A weighted sum of three parts."""
    a, b, c = (float(w) * part for w, part in zip(weights, parts, strict=True))
    return a + b + c


def matrices(c: Code) -> None:
    """The Jacobian by difference quotients, and both inverse matrices of Newton's method."""
    n, stride, wide, x = c.size, c.stride, c.word["wide"], c.rows["x"]
    states = c.behind(c.matrices, c.times(c.times(n, 2), stride))
    slopes = c.behind(states, c.times(n, stride))
    pair = c.behind(slopes, c.times(n, stride))
    with c.each(0, n) as i:
        row = c.behind(states, c.times(i, stride))
        c.copy(x, row)
        value = c.number_at(x, i)
        step = radau.DIFFERENCE * c.maximum(c.called("fabs", value), 1.0)
        c.put(c.rows["steps"], i, step)
        c.put(row, i, value + step)
    row = c.times(stride, 8)
    c.rates(n, BEGUN, states, slopes, steps=(0, row, 0, row, 0))
    h = c.get("length")
    with c.each(0, n) as i:
        single = c.behind(c.matrices, c.times(c.times(i, stride), 2))
        upper = c.behind(pair, c.times(c.times(i, wide), 2))
        lower = c.behind(upper, c.times(c.times(n, wide), 2))
        clear(c, single, c.times(stride, 2))
        clear(c, upper, c.times(wide, 2))
        clear(c, lower, c.times(wide, 2))
        with c.each(0, n) as j:
            found = c.number_at(c.behind(slopes, c.times(j, stride)), i)
            slope = (found - c.number_at(c.rows["rate0"], i)) / c.number_at(c.rows["steps"], j)
            J, same = slope * h, c.is_whole(i, j)
            one = c.chosen(same, 1.0, 0.0)
            c.put(single, j, one - J / radau.MU)
            turned = radau.ALPHA * one - J
            c.put(upper, j, turned)
            c.put(lower, c.plus(n, j), turned)
        c.put(single, c.plus(stride, i), 1.0)
        c.put(upper, c.plus(n, i), radau.BETA)
        c.put(lower, i, -radau.BETA)
        c.put(upper, c.plus(wide, i), 1.0)
        c.put(lower, c.plus(c.plus(wide, n), i), 1.0)
    c.run("inverse", f"ptr {c.matrices}", f"i64 {n}", f"i64 {stride}")
    c.run("inverse", f"ptr {pair}", f"i64 {c.times(n, 2)}", f"i64 {wide}")


def clear(c: Code, address: str, count: str) -> None:
    """Write zeros, of whole vectors."""
    with c.each(0, count, c.lanes) as j:
        c.put(address, j, c.constant(0.0, wide=True))


def inverse(lanes: int) -> Code:
    """The inverse of a matrix of n rows, of which each has `half` numbers, and as many of 1.

    It takes the place of the second half; the first half becomes its transpose.
    """
    c = Code(lanes, "inverse", ", ptr %rows, i64 %n, i64 %half")
    width = c.times("%half", 2)

    def row(i: str) -> str:
        return c.behind("%rows", c.times(i, width))

    with c.each(0, "%n") as j:

        def larger(i: str, so_far: Sequence[str], j: str = j) -> list[str]:
            i = c.plus(i, j)
            size, best = c.called("fabs", c.number_at(row(i), j)), Number(c, so_far[0])
            index = Number(c, c.let(f"sitofp i64 {i} to {DOUBLE}"))
            test = size > best
            return [
                c.chosen(test, size, best).name,
                c.chosen(test, index, Number(c, so_far[1])).name,
            ]

        first = Number(c, c.let(f"sitofp i64 {j} to {DOUBLE}"))
        begin = [number(-1.0, DOUBLE), first.name]
        _, place = c.accumulate(DOUBLE, begin, c.let(f"sub i64 %n, {j}"), larger)
        p = c.let(f"fptosi {DOUBLE} {place} to i64")
        pivot, chosen, here = c.number_at(row(p), j), row(p), row(j)
        start = c.let(f"and i64 {j}, {-lanes}")  # all before it are zero
        with c.each(start, width, lanes) as k:
            a, b = c.number_at(chosen, k, wide=True), c.number_at(here, k, wide=True)
            c.put(chosen, k, b)
            c.put(here, k, a / pivot)
        with c.each(0, "%n") as i, c.when(c.is_whole(i, j, "ne")):
            other = row(i)
            factor = c.number_at(other, j)
            with c.each(start, width, lanes) as k:
                x = c.number_at(other, k, wide=True)
                c.put(other, k, x - factor * c.number_at(here, k, wide=True))
    with c.each(0, "%n") as i, c.each(0, "%n") as j:
        c.put(row(j), i, c.number_at(row(i), c.plus("%half", j)))
    return c


def guess(c: Code, t: Number, h: Number) -> None:
    """W and Z where the cubic of the last step goes on; 0 after a jump."""
    known = c.compared("oeq", c.get("last_end"), t)
    ratio = h / c.get("last_h")
    with c.columns() as j:
        for i in range(3):
            c.keep(f"Z{i}", j, c.constant(0.0, wide=True))
    with c.when(known), c.columns() as j:
        one, two, three = cubic(c, j)
        for i, place in enumerate(radau.C):
            s = 1.0 + float(place) * ratio
            c.keep(f"Z{i}", j, s * (one + s * (two + s * three)) - (one + two + three))
    with c.columns() as j:
        Z = [c.of(f"Z{i}", j) for i in range(3)]
        W = [mixed(weights, Z) for weights in radau.T_INVERSE]
        for i in range(3):
            c.keep(f"W{i}", j, W[i])
            c.keep(f"Z{i}", j, mixed(radau.T[i], W))


def newton(c: Code, h: Number) -> None:
    """The stages of a step of radau.py, by Newton's method."""
    n, wide = c.size, c.word["wide"]
    pair = c.behind(c.matrices, c.times(c.times(n, 4), c.stride))
    vector = c.behind(pair, c.times(c.times(n, 4), wide))
    c.allowed("x")
    c.set_whole("solved", 0)
    c.set_whole("going", 1)
    c.set("before", float("nan"))
    with c.each(0, radau.ITERATIONS) as k, c.when(c.is_set("going")):
        with c.columns() as j:
            for i in range(3):
                c.keep(f"stage{i}", j, c.of("x", j) + c.of(f"Z{i}", j))
        c.rates(3, 1, c.rows["stage0"], c.rows["rate1"])
        with c.columns() as j:
            w = [c.of(f"W{i}", j) for i in range(3)]
            scaled = [c.of(f"rate{i + 1}", j) * h for i in range(3)]
            F = [mixed(weights, scaled) for weights in radau.T_INVERSE]
            c.keep("a", j, F[0] / radau.MU - w[0])
            c.keep("F1", j, F[1] - radau.ALPHA * w[1] - radau.BETA * w[2])
            c.keep("F2", j, F[2] - radau.ALPHA * w[2] + radau.BETA * w[1])
        c.copy(c.rows["F1"], vector)
        c.copy(c.rows["F2"], c.behind(vector, n))
        out = c.behind(vector, wide)
        c.product(c.matrices, c.stride, n, c.rows["a"], c.rows["change0"])
        c.product(pair, wide, c.times(n, 2), vector, out)
        c.copy(out, c.rows["change1"])
        c.copy(c.behind(out, n), c.rows["change2"])
        with c.columns() as j:
            change = [c.of(f"change{i}", j) for i in range(3)]
            W = [c.of(f"W{i}", j) + change[i] for i in range(3)]
            for i in range(3):
                c.keep(f"W{i}", j, W[i])
                c.keep(f"Z{i}", j, mixed(radau.T[i], W))
                c.keep(f"F{i}", j, mixed(radau.T[i], change) / c.of("scale", j))
        squares = [c.squares(f"F{i}") for i in range(3)]
        moved = c.called("sqrt", c.mean(squares[0] + squares[1] + squares[2], 3))
        pace = moved / c.get("before")
        left = c.chosen(pace < 1.0, pace / (1.0 - pace), float("inf")) * moved

        def further(_: str, so_far: Sequence[str], pace: Number = pace) -> list[str]:
            return [(Number(c, so_far[0]) * pace).name]

        rounds = c.let(f"sub i64 {radau.ITERATIONS - 1}, {k}")
        at_last = Number(c, c.accumulate(DOUBLE, [left.name], rounds, further)[0])
        hopeless = c.both(at_last > c.get("solved"), c.is_whole(k, 0, "sgt"))
        done = c.either(c.compared("oeq", moved, 0.0), left < c.get("solved"))
        with c.when(done):
            c.set_whole("solved", 1)
        c.set("before", moved)
        ended = c.either(done, c.either(c.no(c.is_finite(moved)), hopeless))
        c.set_whole("going", c.as_whole(c.no(ended)))
