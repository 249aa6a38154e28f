"""Adaptive steps in machine code: many steps of one rollout in one call.

`@adaptive_steps(words)` does for one rollout what integration.py does in NumPy for many, with the
same operations in the same order: steps by dop853.py or radau.py, the comparison of the polynomial
with the equations of motion, the results, and the lengths of the next steps. Words are 64-bit
numbers and addresses in the order of WORDS. It calls the kernels by their addresses, and ends at a
break, at the end of the motion, or where Python has to decide.
"""

from collections.abc import Sequence

from kinetree.engine.llvm.dense import DOUBLE
from kinetree.engine.llvm.numbers import Number
from kinetree.engine.llvm.text import number
from kinetree.simulate import tuning
from kinetree.simulate.core import dop853, radau
from kinetree.simulate.core.implicit_code import implicit_step, inverse
from kinetree.simulate.core.step_frame import (
    BREAK,
    CHECKED,
    ENDS,
    ENTRY,
    FORCES,
    LOST,
    OPEN,
    OVER,
    PAUSED,
    REACHED,
    RESULTS,
    RUNNING,
    WINDOW,
    Code,
    cubic,
)


def explicit_step(lanes: int) -> Code:
    """A step of dop853.py from `x` with `rate0`, its error, and whether it shows stiffness."""
    c = Code(lanes, "explicit_step")
    h, last = c.get("length"), dop853.STAGES
    for i in range(1, dop853.RATES):
        c.set_time(i, dop853.C[i], ends=i <= last and dop853.C[i] == 1)
    c.evaluate_signals(dop853.RATES, REACHED)
    for i in range(1, last):
        stage(c, h, i)
    with c.columns() as j:
        c.keep("end", j, c.of("x", j) + h * c.weighted(dop853.B, j))
    c.rate(last, c.rows["end"], c.rows[f"rate{last}"])
    c.allowed("x", "end")
    with c.columns() as j:
        scale = c.of("scale", j)
        c.keep("a", j, c.weighted(dop853.E5, j) / scale)
        c.keep("b", j, c.weighted(dop853.E3, j) / scale)
    five, three = c.squares("a"), c.squares("b")
    size = Number(c, c.let(f"sitofp i64 {c.size} to {DOUBLE}"))
    below = c.called("sqrt", (five + 0.01 * three) * size)
    c.set("wrong", c.called("fabs", h) * five / c.chosen(below > 0.0, below, 1.0))
    return c


def stage(c: Code, h: Number, i: int) -> None:
    """Evaluate the rate of a stage of dop853.py."""
    with c.columns() as j:
        c.keep("state", j, c.of("x", j) + h * c.weighted(dop853.A[i], j))
    c.rate(i, c.rows["state"], c.rows[f"rate{i}"])


def dense_output(lanes: int) -> Code:
    """The polynomial over a step of dop853.py."""
    c = Code(lanes, "dense_output")
    h = c.get("length")
    for i in range(dop853.STAGES + 1, dop853.RATES):
        stage(c, h, i)
    with c.columns() as j:
        first, last = c.of("rate0", j), c.of(f"rate{dop853.STAGES}", j)
        move = c.of("end", j) - c.of("x", j)
        parts = [move, h * first - move, 2.0 * move - h * (last + first)]
        parts += [h * c.weighted(row, j) for row in dop853.D]
        for i, part in enumerate(parts):
            c.keep(f"part{i}", j, part)
    return c


def point(lanes: int) -> Code:
    """The polynomial over a step: `state` and `moving`, its rate, at a share of the step."""
    c = Code(lanes, "point", f", {DOUBLE} %share")
    share, h = Number(c, "%share"), c.get("length")
    with c.when(c.no(c.implicit)):
        up, down = share, 1.0 - share
        with c.columns() as j:
            y = slope = c.constant(0.0, wide=True)
            for i in reversed(range(7)):
                y = y + c.of(f"part{i}", j)
                slope = slope * up + y if i % 2 == 0 else slope * down - y
                y = y * (up if i % 2 == 0 else down)
            c.keep("state", j, y + c.of("x", j))
            c.keep("moving", j, slope / h)
    with c.when(c.implicit), c.columns() as j:
        one, two, three = cubic(c, j)
        c.keep("state", j, c.of("x", j) + share * (one + share * (two + share * three)))
        slope = one + share * (2.0 * two + share * (3.0 * three))
        c.keep("moving", j, slope / h)
    return c


def defect(lanes: int) -> Code:
    """The largest defect so far in `miss`, with that at a share where the rate is known."""
    c = Code(lanes, "defect", f", {DOUBLE} %share, ptr %k, {DOUBLE} %allowed")
    share, h = Number(c, "%share"), c.get("length")
    c.run("point", f"{DOUBLE} %share")
    c.copy("%k", c.rows["a"])
    with c.columns() as j:
        c.keep("b", j, c.of("moving", j) - c.of("a", j))
    with c.when(c.implicit):
        c.product(c.matrices, c.stride, c.size, c.rows["b"], c.rows["a"])
        c.copy(c.rows["a"], c.rows["b"])
    with c.columns() as j:
        c.keep("a", j, c.of("b", j) * (h / c.of("scale", j)))
    size = c.called("sqrt", c.mean(c.squares("a"))) / tuning.DEFECT / Number(c, "%allowed")
    size = c.chosen(c.is_finite(size), size, float("inf"))
    inner = c.both(share > 1e-9, share < 1 - 1e-9)  # a jump there has two sides
    c.set("miss", c.maximum(c.get("miss"), c.chosen(inner, size, 0.0)))
    return c


def accept(lanes: int) -> Code:
    """Check a step whose error is small, write its results, and go on from its end."""
    c = Code(lanes, "accept")
    h, until, ends, reached = (c.get(name) for name in ("length", "until", "ends", "reached"))
    with c.when(c.no(c.implicit)):
        c.run("dense_output")
    done = c.whole("done")
    due = c.beyond(done, ends * (1 + 1e-15))
    c.set_whole("due", due)
    check(c, done, due)
    kept = c.either(c.get("miss") <= 1.0, h <= tuning.FINE_STEP * c.get("max_step"))
    c.set_whole("good", c.as_whole(kept))
    with c.when(c.no(kept)):
        miss = c.get("miss")
        shrunk = c.chosen(
            c.implicit,
            *(0.9 / root(c, miss, x.defect_order) for x in (radau.Radau, dop853.DOP853)),
        )
        c.set("grown", c.clipped(shrunk, 0.2, 0.9))
        empty(c, done, due)
    paused = c.both(kept, c.is_whole(c.word["pause"], 0, "ne"))
    with c.when(paused):
        c.set_whole("status", PAUSED)
    with c.when(c.both(kept, c.no(paused))):
        again = c.both(c.compared("oeq", ends, until), ends < last_result(c))
        at_break = c.chosen(c.compared("oeq", reached, until), reached * (1 - 1e-15), until)
        upto = c.pick_whole(again, c.beyond(done, at_break), due)
        empty(c, upto, due)
        c.set_whole("done", upto)
        c.raise_whole("taken")
        end, state = c.rows["end"], c.rows["state"]
        c.normal(end, state)

        def differs(i: str) -> Number:
            return c.chosen(c.compared("une", c.number_at(end, i), c.number_at(state, i)), 1.0, 0.0)

        moved = c.either(again, c.sum(differs) > 0.0)
        c.set("t", reached)
        c.copy(state, c.word["x"])
        evaluated = c.rows[f"rate{dop853.STAGES}"], c.rows["rate3"]
        k = c.let(f"select i1 {c.implicit}, ptr {evaluated[1]}, ptr {evaluated[0]}")
        c.copy(k, c.word["k"])
        over = reached >= last_result(c)
        status = c.pick_whole(over, OVER, c.pick_whole(again, BREAK, RUNNING))
        c.set_whole("status", status)
        with c.when(moved):
            c.rate(REACHED, c.word["x"], c.word["k"])
            forces = c.behind(c.word["spare"], FORCES)
            with c.each(c.word["Phi"], c.word["Phi_end"]) as i:
                closed = c.called("fabs", c.number_at(forces, i)) <= c.get("tolerance")
                with c.when(c.no(closed)):
                    c.set_whole("status", OPEN)
    return c


def last_result(c: Code) -> Number:
    """The time of the last result."""
    return c.number_at(c.word["outputs"], c.plus(c.word["outputs_count"], -1))


def root(c: Code, x: Number, order: int) -> Number:
    """The root of a number from 1 on, of order 3 or 7, as `dop853.root` has it."""
    y = x
    for _ in range(3 if order == 7 else 2):
        y = c.called("sqrt", y)
    x, y = c.minimum(x, dop853.LARGEST), c.minimum(y, dop853.LARGEST)
    for _ in range(dop853.ROOT_ITERATIONS):
        power = y
        for _ in range(order - 2):
            power = power * y
        y = y - (power * y - x) / (float(order) * power)
    return y


def empty(c: Code, first: str, end: str) -> None:
    """Take back results that were written before their step was kept."""
    with c.each(first, end) as r:
        for name in ("result", "rates"):
            with c.each(0, c.size) as i:
                c.put(c.result(name, r), i, float("nan"))
        with c.each(0, c.word["forces_count"]) as i:
            c.put(c.result("forces", r), i, float("nan"))


def check(c: Code, done: str, due: str) -> None:
    """Compare the polynomial with the equations of motion, between the stages and at results."""
    t, h = c.get("t"), c.get("length")
    shares = [c.constant(float(x)) for x in tuning.CHECKED_SHARES]
    for i, share in enumerate(shares):
        c.set_time(CHECKED + i, share)
        c.run("point", f"{DOUBLE} {share.name}")
        c.normal(c.rows["state"], c.rows[f"point{i}"])
    c.evaluate_signals(len(shares), CHECKED)
    c.rates(len(shares), CHECKED, c.rows["point0"], c.rows["slope0"])

    def share_of(r: str) -> Number:
        passed = (c.number_at(c.word["outputs"], r) - t) / h
        return c.clipped(passed, 0.0, 1.0)

    with c.each(done, due) as r:
        c.run("point", f"{DOUBLE} {share_of(r).name}")
        c.normal(c.rows["state"], c.result("result", r))
    with c.when(c.is_whole(due, done, "sgt")):
        x, k, y = (c.result(name, done) for name in ("result", "rates", "forces"))
        between, at = c.word["result_step"], c.behind(c.word["outputs"], done)
        steps = (8, between, c.word["signal_step"], between, c.word["force_step"])
        count = c.let(f"sub i64 {due}, {done}")
        c.evaluate_signals(count, RESULTS, at)
        c.rates(count, RESULTS, x, k, at=at, y=y, steps=steps)
    c.set("miss", 0.0)
    for i, share in enumerate(shares):
        c.run("defect", f"{DOUBLE} {share.name}", f"ptr {c.rows[f'slope{i}']}", f"{DOUBLE} 1.0")
    with c.each(done, due) as r:
        allowed = f"{DOUBLE} {number(tuning.DEFECT_AT_RESULTS, DOUBLE)}"
        k = c.result("rates", r)
        c.run("defect", f"{DOUBLE} {share_of(r).name}", f"ptr {k}", allowed)


def steps(lanes: int) -> Code:
    """Steps until Python has to decide."""
    c = Code(lanes, ENTRY)
    running = lambda: c.is_whole(c.whole("status"), RUNNING)  # noqa: E731
    with c.each(0, c.word["attempts"]), c.when(running()):
        with c.when(c.no(c.is_set("resumed"))):
            attempt(c)
        c.set_whole("resumed", 0)
        with c.when(c.is_whole(c.whole("status"), PAUSED, "ne")):
            with c.when(c.no(c.implicit)):
                stiffness(c)
            with c.when(c.both(c.implicit, c.is_whole(c.word["auto"], 0, "ne"))):
                calmness(c)
            next_length(c)
            pace(c)
    return c


def attempt(c: Code) -> None:
    """Take a step, and go on from its end if it is good."""
    t, until = c.get("t"), c.get("until")
    wanted = c.minimum(c.get("h"), c.get("max_step"))
    short = t + 1.01 * wanted >= until  # leave no tiny last step
    length = c.chosen(short, until - t, wanted)
    ends = c.chosen(c.compared("oeq", length, until - t), until, t + length)
    again = c.both(c.compared("oeq", ends, until), ends < last_result(c))
    reached = c.chosen(again, c.get("beyond"), ends)
    for name, value in zip(
        ("wanted", "length", "ends", "reached"), (wanted, length, ends, reached), strict=True
    ):
        c.set(name, value)
    c.put(c.time(REACHED), 0, reached)
    c.put(c.word["spare"], ENDS + REACHED, 0.0)
    c.copy(c.word["x"], c.rows["x"])
    c.copy(c.word["k"], c.rows["rate0"])
    with c.when(c.implicit):
        c.run("implicit_step")
    with c.when(c.no(c.implicit)):
        c.run("explicit_step")

    def off(i: str) -> Number:
        end = c.number_at(c.rows["end"], i)
        return end - end

    finite = c.both(c.is_finite(c.get("wrong")), c.is_finite(c.sum(off)))
    wrong = c.chosen(finite, c.get("wrong"), float("inf"))
    four = c.called("sqrt", c.called("sqrt", wrong))
    by = [
        c.clipped(x.SAFETY / part, x.SHRINK, x.GROW)
        for x, part in ((radau, four), (dop853, c.called("sqrt", four)))
    ]
    c.set("grown", c.chosen(c.implicit, *by))
    c.set_whole("good", 0)
    with c.when(wrong <= 1.0):
        c.run("accept")


def stiffness(c: Code) -> None:
    """Count steps that stability limits; after many, the other method goes on."""
    h, last = c.get("length"), dop853.STAGES
    with c.columns() as j:
        before = c.of("x", j) + h * c.weighted(dop853.A[last - 1], j)
        c.keep("a", j, c.of(f"rate{last}", j) - c.of(f"rate{last - 1}", j))
        c.keep("b", j, c.of("end", j) - before)
    change, way = c.squares("a"), c.squares("b")
    measure = h * c.called("sqrt", change / c.chosen(way > 0.0, way, float("inf")))
    good = c.is_set("good")
    limited = c.both(good, measure > tuning.STIFF)
    calm = c.whole("calm_steps")
    further = c.pick_whole(limited, 0, c.plus(calm, 1))
    calm = c.pick_whole(good, further, calm)
    seen = c.plus(c.whole("stiff_steps"), c.as_whole(limited))
    seen = c.pick_whole(c.is_whole(calm, tuning.CALM_STEPS, "sge"), 0, seen)
    c.set_whole("calm_steps", calm)
    c.set_whole("stiff_steps", seen)
    c.raise_whole("explicit_steps", c.as_whole(good))
    with c.when(c.is_whole(calm, tuning.CALM_STEPS, "sge")):
        c.set("changed", c.get("t"))
        c.set_whole("explicit_steps", 0)
    taken, since, length = c.whole("explicit_steps"), c.get("stiff_since"), c.get("stiff_length")
    steps = Number(c, c.let(f"sitofp i64 {taken} to {DOUBLE}"))
    short = c.get("t") - c.get("changed") < steps * (tuning.WORTH * length)
    tried = c.both(good, c.is_whole(taken, tuning.TRIED_STEPS), short)
    limited = c.is_whole(seen, c.word["stiff_steps"], "sge")
    unknown = c.compared("oeq", length, 0.0)
    many = c.either(c.both(limited, c.either(unknown, short)), tried)
    with c.when(c.both(many, c.compared("uno", since, since))):
        c.set("stiff_since", c.get("t"))
    with c.when(c.both(many, c.is_whole(c.word["auto"], 0, "ne"))):
        doubled = c.times(c.whole("phase"), 2)
        c.set_whole("phase", c.pick_whole(unknown, tuning.STIFF_PHASE, doubled))
        for name in ("stiff_steps", "calm_steps", "implicit_steps"):
            c.set_whole(name, 0)
        change_method(c, 1)


def calmness(c: Code) -> None:
    """Count steps of a stiff motion; after many, dop853 is tried again."""
    count = c.raise_whole("implicit_steps", c.as_whole(c.is_set("good")))
    with c.when(c.is_whole(count, c.whole("phase"), "sge")):
        c.set_whole("explicit_steps", 0)
        steps = Number(c, c.let(f"sitofp i64 {count} to {DOUBLE}"))
        c.set("stiff_length", (c.get("t") - c.get("changed")) / steps)
        change_method(c, 0)


def change_method(c: Code, stiff: int) -> None:
    """Let the other method go on, in the next call."""
    c.set("changed", c.get("t"))
    c.set_whole("stiff", stiff)
    with c.when(c.is_whole(c.whole("status"), RUNNING)):
        c.set_whole("status", WINDOW)


def next_length(c: Code) -> None:
    """The length of the next step."""
    h, wanted, grown, good = c.get("length"), c.get("wanted"), c.get("grown"), c.is_set("good")
    grown = c.chosen(c.is_set("after"), c.minimum(grown, 1.0), grown)
    longer = h * grown
    # the length of a step that a break cut short does not limit that of the next
    cut = c.both(good, h < wanted)
    longer = c.chosen(cut, c.maximum(longer, wanted), longer)
    c.set("h", longer)
    bad = c.as_whole(c.no(good))
    c.set_whole("after", bad)
    c.raise_whole("rejected", bad)
    c.raise_whole("steps", c.as_whole(good))
    shortest = tuning.SHORTEST_STEP * c.maximum(c.get("t"), 1e-3 * c.get("max_step"))
    with c.when(c.both(c.no(good), longer < shortest)):
        c.set_whole("status", LOST)


def pace(c: Code) -> None:
    """Count short and rejected steps, for `integration.Pace`."""
    h, good = c.get("length"), c.is_set("good")
    fine = c.both(c.compared("oeq", h, c.get("wanted")), h <= tuning.FINE_STEP * c.get("max_step"))
    count = c.pick_whole(fine, c.plus(c.whole("fine"), 1), 0)
    c.set_whole("fine", count)
    doubtful = int(tuning.SLIDE_REJECTED * tuning.PACE_WINDOW / 2)
    with c.when(
        c.either(
            c.is_whole(count, tuning.MAX_FINE_STEPS // 2, "sgt"),
            c.is_whole(c.whole("refused"), doubtful, "sge"),
        )
    ):
        spread_of_rates(c)
    tries = c.raise_whole("tries")
    c.raise_whole("refused", c.as_whole(c.no(good)))
    with c.when(good):
        c.set("longest", c.maximum(c.get("longest"), h))
        c.set("shortest", c.minimum(c.get("shortest"), h))
    judged = c.either(
        c.is_whole(tries, tuning.PACE_WINDOW, "sge"),
        c.is_whole(count, tuning.MAX_FINE_STEPS, "sgt"),
    )
    with c.when(c.both(judged, c.is_whole(c.whole("status"), RUNNING))):
        c.set_whole("status", WINDOW)


def spread_of_rates(c: Code) -> None:
    """Note by how much accelerations differ within the step; it names a joint that slides."""
    rows = c.pick_whole(c.implicit, 4, dop853.STAGES + 1)
    with c.each(0, c.word["n"]) as i:
        first = c.behind(c.rows["rate0"], c.plus(c.word["nq"], i))

        def wider(r: str, so_far: Sequence[str], first: str = first) -> list[str]:
            low, high, off = (Number(c, x) for x in so_far)
            x = c.number_at(first, c.times(r, c.stride))
            return [c.minimum(x, low).name, c.maximum(x, high).name, (off + (x - x)).name]

        limits = [number(x, DOUBLE) for x in (float("inf"), -float("inf"), 0.0)]
        low, high, off = (Number(c, x) for x in c.accumulate(DOUBLE, limits, rows, wider))
        faded = tuning.FADING * c.number_at(c.word["change"], i)
        c.put(c.word["change"], i, c.maximum(high - low + off, faded))


def emit(lanes: int, triple: str | None) -> str:
    """The module."""
    parts = (inverse, point, defect, explicit_step, dense_output, implicit_step, accept, steps)
    codes = [part(lanes) for part in parts]
    kinds = dict.fromkeys([("f64", DOUBLE), (codes[0].suffix, codes[0].kind)])
    declared = [
        f"declare {kind} @llvm.{name}.{code}({kind})"
        for code, kind in kinds
        for name in ("sqrt", "fabs")
    ]
    head = [f'target triple = "{triple}"\n'] if triple else []
    return "\n".join([*head, *(code.text() for code in codes), *declared]) + "\n"
