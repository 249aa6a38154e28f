"""The loop over time around vector bodies: many rollouts, all of their steps, in one call.

`void @{name}_rollout(ptr words)`: words are 64-bit numbers and addresses in the order of WORDS, and
then for every recorded field its address and the bytes between its rows. A block of rollouts goes
through all steps before the next begins; its state stays in one frame of vectors, a lane for each
rollout:

    [ t | x_i | p | s ] [ h | x | k_1 | k_2 | ... | y ] [ w ]

so that rate, stages and watch, which are blocks like those of any kernel, read and write in place.

A state must be finite and a margin must not be negative. All lanes are tested together; only where
one of them fails are they examined one by one.
"""

from kinetree.engine.compiler.stepping import Field, Stepping
from kinetree.engine.llvm.block import Block
from kinetree.engine.llvm.emit import declarations
from kinetree.engine.llvm.operands import Operand, emit_operand
from kinetree.engine.llvm.repeat import emit_block
from kinetree.engine.llvm.target import Target
from kinetree.engine.llvm.text import SCALARS, Writer, number, vector

DTYPE = "float64"
WORD = "double"
WORDS = (
    "frame",
    "count",
    "state",
    "params",
    "params_step",
    "table",
    "table_row",
    "table_step",
    "times",
    "h",
    "rows",
    "evaluations",
    "steps",
    "first",
    "amount",
    "offset",
)


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
    lanes = target.lanes(DTYPE)
    graphs = {"rate": stepping.rate, "watch": stepping.watch}
    graphs |= {f"stage{i}": graph for i, graph in enumerate(stepping.stages)}
    parts = [f'target triple = "{target.triple}"\n'] if target.triple else []
    for part, graph in graphs.items():
        parts += emit_block(Block(graph, f"{name}_{part}", DTYPE, lanes))
    n = stepping.sizes
    reads = dict.fromkeys(n[key] for key in "xps" if n[key])
    writes = dict.fromkeys([n["x"], *(field.size for field in stepping.fields)])
    for sizes, write in ((reads, False), (writes, True)):
        parts += [emit_operand(name, Operand((k,), DTYPE, lanes), write) for k in sizes if k]
    parts.append(emit_notes(name, lanes, n["x"], n["w"]))
    parts.append(RolloutLoop(stepping, name, lanes).text())
    parts.append("\n".join(declarations(DTYPE, lanes)) + "\n")
    parts.append('!0 = !{!"branch_weights", i32 1, i32 1048576}\n')
    return "\n".join(parts)


class RolloutLoop:
    """Writes `@{name}_rollout`."""

    def __init__(self, stepping: Stepping, name: str, lanes: int) -> None:
        self.stepping, self.name, self.lanes = stepping, name, lanes
        self.scalar = SCALARS[DTYPE]
        self.kind = vector(self.scalar.word, lanes)
        self.bytes = self.scalar.size * lanes
        self.frame, self.sizes = FrameSlots(stepping), stepping.sizes
        self.w = Writer()

    def slot(self, index: int) -> str:
        """Address of a vector of the frame."""
        return self.w.at("%frame", index * self.bytes)

    def splat(self, address: str, index: int) -> None:
        """Copy the number at an address to every lane of a vector of the frame."""
        w, word, lanes = self.w, self.scalar.word, self.lanes
        value = w.let(f"load {word}, ptr {address}, align 8")
        if lanes > 1:
            one = w.let(f"insertelement {self.kind} poison, {word} {value}, i32 0")
            zeros = ", ".join(["i32 0"] * lanes)
            value = w.let(
                f"shufflevector {self.kind} {one}, {self.kind} poison, <{lanes} x i32> <{zeros}>"
            )
        w.do(f"store {self.kind} {value}, ptr {self.slot(index)}, align {self.bytes}")

    def move(self, verb: str, size: int, array: str, step: str, index: int) -> None:
        """Move rows of `size` numbers in memory, one for each rollout, from or to the frame."""
        if size:
            self.w.do(
                f"call void @{self.name}_{verb}_{size}(ptr {array}, i64 {step}, ptr @{self.name}_"
                f"unit, i64 %lanes, i1 true, ptr {self.slot(index)})"
            )

    def copy(self, target: int, source: int, size: int) -> None:
        """Copy vectors of the frame to another place in it."""
        arguments = f"ptr {self.slot(target)}, ptr {self.slot(source)}, i64 {size * self.bytes}"
        self.w.do(f"call void @llvm.memcpy.p0.p0.i64({arguments}, i1 false)")

    def signals(self, i: int) -> None:
        """Load the row of the table of a stage; a row for all rollouts is copied to every lane."""
        size, w = self.sizes["s"], self.w
        if not size:
            return
        stage = w.let(f"add i64 %stage_0, {i}")
        row = w.at("%table_block", w.let(f"mul i64 {stage}, %table_row"))
        w.do(f"br i1 %shared, label %spread{i}, label %gather{i}")
        w.label(f"spread{i}")
        for e in range(size):
            self.splat(w.at(row, 8 * e), self.frame.s + e)
        w.do(f"br label %known{i}")
        w.label(f"gather{i}")
        self.move("read", size, row, "%table_step", self.frame.s)
        w.do(f"br label %known{i}")
        w.label(f"known{i}")

    def stage(self, i: int) -> None:
        """Evaluate the rate, record and watch it if it is the first, and apply the stage."""
        w, frame = self.w, self.frame
        index = w.let(f"add i64 %stage_0, {i}")
        self.splat(w.at("%times", index, "double"), frame.t)
        self.signals(i)
        into = self.slot(frame.k[i])
        w.do(f"call void @{self.name}_rate_block(ptr {self.slot(frame.t)}, ptr {into})")
        if i == 0:
            self.record()
            self.look()
            w.do("%last = icmp sge i64 %e, %steps")
            w.do("br i1 %last, label %finished, label %going")
            w.label("going")
        into = self.slot(frame.begun)
        w.do(f"call void @{self.name}_stage{i}_block(ptr {self.slot(frame.h)}, ptr {into})")

    def record(self) -> None:
        """Write the fields, where this evaluation has a row."""
        w = self.w
        w.do(f"%row = load i64, ptr {w.at('%rows', '%e', 'i64')}, align 8")
        w.do("%recorded = icmp sge i64 %row, 0")
        w.do("br i1 %recorded, label %record, label %look")
        w.label("record")
        for k, field in enumerate(self.stepping.fields):
            base = w.let(f"load ptr, ptr {w.at('%words', len(WORDS) + 2 * k, 'i64')}, align 8")
            row = w.let(f"load i64, ptr {w.at('%words', len(WORDS) + 2 * k + 1, 'i64')}, align 8")
            place = w.at(base, w.let(f"mul i64 %row, {row}"))
            place = w.at(place, w.let(f"mul i64 %begin, {8 * field.size}"))
            slot = self.frame.of(field, self.sizes)
            self.move("write", field.size, place, str(8 * field.size), slot)
        w.do("br label %look")
        w.label("look")

    def look(self) -> None:
        """Note numbers that are not finite and margins that are negative."""
        w, frame = self.w, self.frame
        x, margins = self.slot(frame.x), self.slot(frame.w)
        if self.sizes["w"]:
            w.do(f"call void @{self.name}_watch_block(ptr {x}, ptr {margins})")
        number = w.let("add i64 %offset, %e")
        w.do(
            f"call void @{self.name}_look(ptr {x}, ptr {margins}, ptr %first_block, "
            f"ptr %amount_block, i64 %lanes, i64 {number})"
        )

    def words(self) -> None:
        """Load every word under its name, as a pointer if loads go through it."""
        w = self.w
        addresses = ("frame", "state", "params", "table", "times", "h", "rows", "first", "amount")
        for k, key in enumerate(WORDS):
            kind = "ptr" if key in addresses else "i64"
            w.do(f"%{key} = load {kind}, ptr {w.at('%words', k, 'i64')}, align 8")

    def begin_block(self) -> None:
        """Load the number of rollouts of a block and the addresses of their arrays."""
        w, n = self.w, self.sizes
        w.do("%left = sub i64 %count, %begin")
        w.do(f"%short = icmp slt i64 %left, {self.lanes}")
        w.do(f"%lanes = select i1 %short, i64 %left, i64 {self.lanes}")
        watched = 8 * (n["x"] + n["w"])
        for key, step in (("first", watched), ("amount", watched), ("state", 8 * n["x"])):
            offset = w.let(f"mul i64 %begin, {step}")
            w.do(f"%{key}_block = getelementptr i8, ptr %{key}, i64 {offset}")
        for key in ("table", "params"):
            offset = w.let(f"mul i64 %begin, %{key}_step")
            w.do(f"%{key}_block = getelementptr i8, ptr %{key}, i64 {offset}")
        self.move("read", n["x"], "%state_block", str(8 * n["x"]), self.frame.x)
        self.copy(self.frame.begun, self.frame.x, n["x"])
        self.move("read", n["p"], "%params_block", "%params_step", self.frame.p)

    def text(self) -> str:
        """The whole function."""
        w, stages = self.w, len(self.stepping.stages)
        self.words()
        w.do("%shared = icmp eq i64 %table_step, 0")
        w.do("br label %block")
        w.label("block")
        w.do("%begin = phi i64 [ 0, %entry ], [ %next_block, %finished ]")
        self.begin_block()
        w.do("br label %step")
        w.label("step")
        w.do("%e = phi i64 [ 0, %block ], [ %next, %stepped ]")
        w.do(f"%stage_0 = mul i64 %e, {stages}")
        self.splat(w.at("%h", "%e", "double"), self.frame.h)
        for i in range(stages):
            self.stage(i)
        self.copy(self.frame.x, self.frame.begun, self.sizes["x"])
        w.do("br label %stepped")
        w.label("stepped")
        w.do("%next = add i64 %e, 1")
        w.do("%more = icmp slt i64 %next, %evaluations")
        w.do("br i1 %more, label %step, label %finished")
        w.label("finished")
        self.move("write", self.sizes["x"], "%state_block", str(8 * self.sizes["x"]), self.frame.x)
        w.do(f"%next_block = add i64 %begin, {self.lanes}")
        w.do("%blocks = icmp slt i64 %next_block, %count")
        w.do("br i1 %blocks, label %block, label %done")
        w.label("done")
        head = f"@{self.name}_unit = internal constant i64 8, align 8\n"
        head += f'define void @{self.name}_rollout(ptr %words) "stackrealign" {{'
        return "\n".join([head, "entry:", *w.lines, "  ret void\n}\n"])


def emit_notes(name: str, lanes: int, states: int, margins: int) -> str:
    """Text of `@{name}_look(ptr x, ptr w, ptr first, ptr amount, i64 lanes, i64 number)`.

    x and w are vectors of the frame; first and amount have a row of `states + margins` for each
    rollout, and first is negative where nothing has gone wrong yet.
    """
    look = emit_look(name, lanes, states, margins)
    return f"{look}\n{emit_note(name, lanes, states + margins)}"


def any_lane(lanes: int) -> str:
    """Statements for %some: whether a lane of %wrong is set."""
    if lanes == 1:
        return "  %some = or i1 %wrong, false"
    return f"""\
  %packed = bitcast {vector("i1", lanes)} %wrong to i{lanes}
  %some = icmp ne i{lanes} %packed, 0"""


def emit_look(name: str, lanes: int, states: int, margins: int) -> str:
    """Emit the test of all lanes at once, which hardly ever finds anything to note."""
    kind, masks = vector(WORD, lanes), vector("i1", lanes)
    size = 8 * lanes
    nothing = number(0.0, WORD, lanes)
    none = "zeroinitializer" if lanes > 1 else "false"
    return f"""\
define internal void @{name}_look(ptr %x, ptr %w, ptr %first, ptr %amount, i64 %lanes, \
i64 %number) {{
entry:
  br label %state
state:
  %j = phi i64 [ 0, %entry ], [ %j_next, %state ]
  %so_far = phi {masks} [ {none}, %entry ], [ %lost, %state ]
  %at = getelementptr {kind}, ptr %x, i64 %j
  %v = load {kind}, ptr %at, align {size}
  %zero = fsub {kind} %v, %v
  %nan = fcmp uno {kind} %zero, %zero
  %lost = or {masks} %so_far, %nan
  %j_next = add i64 %j, 1
  %j_more = icmp slt i64 %j_next, {states}
  br i1 %j_more, label %state, label %margins
margins:
  %any_margin = icmp sgt i64 {margins}, 0
  br i1 %any_margin, label %margin, label %sum
margin:
  %i = phi i64 [ 0, %margins ], [ %i_next, %margin ]
  %before = phi {masks} [ %lost, %margins ], [ %both, %margin ]
  %place = getelementptr {kind}, ptr %w, i64 %i
  %m = load {kind}, ptr %place, align {size}
  %gone = fcmp olt {kind} %m, {nothing}
  %both = or {masks} %before, %gone
  %i_next = add i64 %i, 1
  %i_more = icmp slt i64 %i_next, {margins}
  br i1 %i_more, label %margin, label %sum
sum:
  %wrong = phi {masks} [ %lost, %margins ], [ %both, %margin ]
{any_lane(lanes)}
  br i1 %some, label %note, label %done, !prof !0
note:
  call void @{name}_note(ptr %x, ptr %first, ptr %amount, i64 %lanes, i64 %number, i64 {states}, \
i64 0, i1 true)
  call void @{name}_note(ptr %w, ptr %first, ptr %amount, i64 %lanes, i64 %number, i64 {margins}, \
i64 {states}, i1 false)
  br label %done
done:
  ret void
}}
"""


def emit_note(name: str, lanes: int, width: int) -> str:
    """Emit the search, number by number, for new mistakes; rows of notes are `width` long."""
    return f"""\
define internal void @{name}_note(ptr %values, ptr %first, ptr %amount, i64 %lanes, i64 %number, \
i64 %size, i64 %start, i1 %state) cold noinline {{
entry:
  %total = mul i64 %size, %lanes
  %any = icmp sgt i64 %total, 0
  br i1 %any, label %each, label %done
each:
  %k = phi i64 [ 0, %entry ], [ %k_next, %next ]
  %j = udiv i64 %k, %lanes
  %lane = urem i64 %k, %lanes
  %row = mul i64 %j, {lanes}
  %index = add i64 %row, %lane
  %at = getelementptr {WORD}, ptr %values, i64 %index
  %v = load {WORD}, ptr %at, align 8
  %zero = fsub {WORD} %v, %v
  %lost = fcmp uno {WORD} %zero, %zero
  %gone = fcmp olt {WORD} %v, 0.0
  %wrong = select i1 %state, i1 %lost, i1 %gone
  %width = mul i64 %lane, {width}
  %shift = add i64 %width, %start
  %place = add i64 %shift, %j
  %when = getelementptr i64, ptr %first, i64 %place
  %old = load i64, ptr %when, align 8
  %new = icmp slt i64 %old, 0
  %noted = and i1 %wrong, %new
  br i1 %noted, label %write, label %next
write:
  store i64 %number, ptr %when, align 8
  %how = getelementptr {WORD}, ptr %amount, i64 %place
  store {WORD} %v, ptr %how, align 8
  br label %next
next:
  %k_next = add i64 %k, 1
  %more = icmp slt i64 %k_next, %total
  br i1 %more, label %each, label %done
done:
  ret void
}}
"""
