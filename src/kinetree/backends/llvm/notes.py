"""Notes of what goes wrong in a rollout: when, and by how much, each number first did.

A state must be finite and a margin must not be negative. All lanes are tested together; only where
one of them fails are they looked at one by one.
"""

from kinetree.backends.llvm.text import number, vector

WORD = "double"


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
    """The test of all lanes at once, which hardly ever finds something to note."""
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
    """The search, number by number, for what went wrong first; rows of notes are `width` long."""
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
