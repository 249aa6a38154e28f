"""The loop over time around vector bodies: many rollouts, all of their steps, in one call.

`void @{name}_rollout(ptr words)`: words are 64-bit numbers and addresses in the order of WORDS, and
then for every recorded field its address and the numbers between its rows. A block of rollouts goes
through all steps before the next begins; its state stays in one frame of vectors, a lane for each
rollout:

    [ t | x_i | p | s ] [ h | x | k_1 | k_2 | ... | y ] [ w ]

so that rate, stages and watch, which are blocks like those of any kernel, read and write in place.

A state must be finite and a margin must not be negative. All lanes are tested together; only where
one of them fails are they examined one by one.
"""

from kinetree.engine.compiler.loops import ADDRESS, INTEGER, MASK, TEST, Index, Value, Vector
from kinetree.engine.compiler.stepping import Field, Stepping
from kinetree.engine.llvm.block import Block
from kinetree.engine.llvm.loops import LlvmLoops
from kinetree.engine.llvm.operands import Operand, emit_operand
from kinetree.engine.llvm.states import emit_block
from kinetree.engine.llvm.target import Target
from kinetree.engine.llvm.text import END

DTYPE = "float64"
ADDRESSES = ("frame", "state", "params", "table", "times", "h", "rows", "first", "amount")
COUNTS = ("count", "params_step", "table_row", "table_step", "evaluations", "steps", "offset")
WORDS = (*ADDRESSES, *COUNTS)


class FrameSlots:
    """The places of all numbers of a block of rollouts, counted in vectors."""

    def __init__(self, stepping: Stepping) -> None:
        n = stepping.sizes
        self.t = 0
        self.begun = 1
        self.p = self.begun + n["x"]
        self.s = self.p + n["p"]
        self.h = self.s + n["s"]
        self.x = self.h + 1
        self.k = [self.x + n["x"] + i * n["k"] for i in range(len(stepping.stages))]
        self.w = self.k[-1] + n["k"] + n["y"]
        self.length = self.w + max(1, n["w"])

    def of(self, field: Field, n: dict[str, int]) -> int:
        """Return the place of a recorded field after the first evaluation of a step."""
        start = {"x": self.x, "k": self.k[0], "y": self.k[0] + n["k"]}[field.source]
        return start + field.start


def emit_rollout(stepping: Stepping, target: Target, name: str = "kernel") -> str:
    """Text of a module with `@{name}_rollout`."""
    lanes, n = target.lanes(DTYPE), stepping.sizes
    graphs = {"rate": stepping.rate, "watch": stepping.watch}
    graphs |= {f"stage{i}": graph for i, graph in enumerate(stepping.stages)}
    parts = [f'target triple = "{target.triple}"\n'] if target.triple else []
    for part, graph in graphs.items():
        parts += emit_block(Block(graph, f"{name}_{part}", DTYPE, lanes))
    reads = dict.fromkeys(n[key] for key in "xps" if n[key])
    writes = dict.fromkeys([n["x"], *(field.size for field in stepping.fields)])
    for sizes, write in ((reads, False), (writes, True)):
        parts += [emit_operand(name, Operand((k,), DTYPE, lanes), write) for k in sizes if k]
    parts.append(f"@{name}_unit = internal constant i64 8, align 8\n")
    parts += [emit_notes(stepping, name, lanes), RolloutLoop(stepping, name, lanes).text()]
    return "\n".join([*parts, END])


class RolloutLoop:
    """Writes `@{name}_rollout`."""

    def __init__(self, stepping: Stepping, name: str, lanes: int) -> None:
        self.stepping, self.name = stepping, name
        self.slots, self.sizes = FrameSlots(stepping), stepping.sizes
        self.code = LlvmLoops(lanes, f"{name}_rollout", [("words", ADDRESS)], "", ' "stackrealign"')
        self.words = self.code.arguments["words"]
        kinds = [ADDRESS if name in ADDRESSES else INTEGER for name in WORDS]
        values = [self.code.load(self.words, k, kind) for k, kind in enumerate(kinds)]
        self.at: dict[str, Value] = dict(zip(WORDS, values, strict=True))
        self.frame = Vector(self.at["frame"])

    def text(self) -> str:
        """The whole function."""
        code, at, n, slots = self.code, self.at, self.sizes, self.slots
        lanes = code.value(code.lanes, INTEGER)
        with code.each(0, at["count"], code.lanes) as self.begin:
            left = at["count"] - self.begin
            self.count = code.select(left < lanes, left, lanes)
            state = Vector(at["state"]).behind(self.begin * n["x"])
            self.table = Vector(at["table"]).behind(self.begin * at["table_step"])
            params = Vector(at["params"]).behind(self.begin * at["params_step"])
            self.move("read", n["x"], state, n["x"], slots.x)
            code.copy_wide(self.slot(slots.begun), self.slot(slots.x), n["x"])
            self.move("read", n["p"], params, at["params_step"], slots.p)
            with code.each(0, at["evaluations"]) as e:
                self.step(e)
            self.move("write", n["x"], state, n["x"], slots.x)
        return code.text()

    def step(self, e: Value) -> None:
        """Evaluation e, and the step that follows, if one does."""
        code, slots, n = self.code, self.slots, self.sizes
        self.broadcast(slots.h, Vector(self.at["h"])[e])
        self.rate(e, 0)
        self.record(e)
        self.look(e)
        with code.when(e < self.at["steps"]):
            for i in range(len(self.stepping.stages)):
                if i > 0:
                    self.rate(e, i)
                self.evaluate(f"stage{i}", slots.h, slots.begun)
            code.copy_wide(self.slot(slots.x), self.slot(slots.begun), n["x"])

    def rate(self, e: Value, i: int) -> None:
        """The rate of stage i at its time."""
        stage = e * len(self.stepping.stages) + i
        self.broadcast(self.slots.t, Vector(self.at["times"])[stage])
        if self.sizes["s"]:
            self.signals(self.table.behind(stage * self.at["table_row"]))
        self.evaluate("rate", self.slots.t, self.slots.k[i])

    def signals(self, row: Vector) -> None:
        """Load a row of the table; one for all rollouts is copied to every lane."""
        code, size, step = self.code, self.sizes["s"], self.at["table_step"]
        shared = step.equals(0)
        with code.when(shared):
            for k in range(size):
                self.broadcast(self.slots.s + k, row[k])
        with code.when(~shared):
            self.move("read", size, row, step, self.slots.s)

    def record(self, e: Value) -> None:
        """Write the fields, where this evaluation has a row."""
        code = self.code
        row = code.load(self.at["rows"], e, INTEGER)
        with code.when(row >= 0):
            for k, field in enumerate(self.stepping.fields):
                place = len(WORDS) + 2 * k
                field_at = Vector(code.load(self.words, place, ADDRESS))
                step = code.load(self.words, place + 1, INTEGER)
                target = field_at.behind(row * step + self.begin * field.size)
                slot = self.slots.of(field, self.sizes)
                self.move("write", field.size, target, field.size, slot)

    def look(self, e: Value) -> None:
        """Note numbers that are not finite and margins that are negative."""
        code, n, stepping = self.code, self.sizes, self.stepping
        x, margins = self.slot(self.slots.x), self.slot(self.slots.w)
        if n["w"]:
            self.evaluate("watch", self.slots.x, self.slots.w)

        def finite(j: Value, fine: Value) -> list[Value]:
            return [fine & x.wide(j * code.lanes).is_finite]

        def kept(j: Value, fine: Value) -> list[Value]:
            return [fine & ~(margins.wide(j * code.lanes) < 0.0)]

        fine = code.accumulate([code.constant(True, MASK)], n["x"], finite)
        fine = code.accumulate(fine, n["w"], kept)[0] if n["w"] else fine[0]
        with code.when(~code.all(fine)):
            places = self.begin * stepping.watched
            notes = [code.offset(self.at[name], places) for name in ("first", "amount")]
            number = self.at["offset"] + e
            code.call(f"{self.name}_note", x.address, margins.address, *notes, self.count, number)

    def slot(self, index: int) -> Vector:
        """A vector of the frame."""
        return self.frame.behind(index * self.code.lanes)

    def broadcast(self, slot: int, x: Value) -> None:
        """Write a number to every lane of a vector of the frame."""
        self.slot(slot)[0] = self.code.broadcast(x)

    def evaluate(self, part: str, first: int, out: int) -> None:
        """Evaluate a graph from vectors of the frame to others."""
        pointers = (self.slot(first).address, self.slot(out).address)
        self.code.call(f"{self.name}_{part}_block", *pointers)

    def move(self, verb: str, size: int, array: Vector, step: Index, slot: int) -> None:
        """Move rows of `size` numbers in memory, one for each rollout, from or to the frame."""
        if size:
            code = self.code
            unit, true = Value(code, f"@{self.name}_unit", ADDRESS), code.constant(True, TEST)
            place = self.slot(slot).address
            function = f"{self.name}_{verb}_{size}"
            code.call(function, array.address, step * 8, unit, self.count, true, place)


def emit_notes(stepping: Stepping, name: str, lanes: int) -> str:
    """Text of `@{name}_note(ptr x, ptr w, ptr first, ptr amount, i64 lanes, i64 number)`.

    x and w are vectors of the frame; first and amount have a row of `stepping.watched` for each
    rollout, and first is negative where nothing has gone wrong yet.
    """
    n = stepping.sizes
    addresses, wholes = ("x", "w", "first", "amount"), ("lanes", "number")
    arguments = [*((word, ADDRESS) for word in addresses), *((word, INTEGER) for word in wholes)]
    code = LlvmLoops(1, f"{name}_note", arguments, attributes=" cold noinline")
    at = code.arguments
    first, amount = at["first"], Vector(at["amount"])
    for part, start in (("x", 0), ("w", n["x"])):
        with code.each(0, n[part]) as j, code.each(0, at["lanes"]) as lane:
            value = Vector(at[part])[j * lanes + lane]
            wrong = ~value.is_finite if part == "x" else value < 0.0
            place = lane * stepping.watched + start + j
            with code.when(wrong & (code.load(first, place, INTEGER) < 0)):
                code.store(first, place, at["number"])
                amount[place] = value
    return code.text()
