"""Cut the text of a module into several, which are compiled at the same time.

LLVM compiles the functions of a module one after the other, each on its own: nothing is inlined or
moved between them. Long functions therefore go to modules of their own, and the loader connects the
objects. The code of a function is the same wherever it is, and how a text is cut depends on the
text alone, not on the machine.
"""

import re
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field

LONG_FUNCTION = 300  # lines from which a function may go to another module
SMALLEST_MODULE, LARGEST_MODULE = (
    1_000,
    5_000,
)  # lines of a module; 5,000 take about 0.2 s to compile

BEGIN, END = "\ndefine ", "\n}\n"
NAME = re.compile(r"@([\w.]+)\(")


@dataclass(slots=True)
class Function:
    """The text of a function, from "define" to the last brace, and the functions that it names."""

    text: str
    name: str = field(init=False)
    size: int = field(init=False)

    def __post_init__(self) -> None:
        match = NAME.search(self.text)
        assert match is not None
        self.name, self.size = match[1], self.text.count("\n")

    def visible(self) -> str:
        """Return the text with a name that other modules of the kernel can refer to."""
        return self.text.replace("define internal ", "define hidden ", 1)

    def declaration(self) -> str:
        """Return the line by which another module refers to the function."""
        head = self.visible().partition("\n")[0].removeprefix("define ")
        return f"declare {head[: head.rindex(')') + 1]}\n"


def cut(text: str) -> list[str]:
    """Return modules that together define what the module `text` defines; the shared one is last.

    A function stays in the last module if it is short, or if it refers to a constant there.
    """
    if text.count("\n") < SMALLEST_MODULE:
        return [text]
    functions, others = take_apart(text)
    known = {function.name: function for function in functions}
    prefix = common_prefix(known)
    names = {f.name: named(f, prefix, known) for f in functions}
    long = [f for f in functions if f.size >= LONG_FUNCTION and names[f.name] <= known.keys()]
    if len(long) < 2:
        return [text]
    shared = "".join(line for line in others.splitlines(keepends=True) if is_shared(line))
    moved, modules, called = {f.name for f in long}, list[str](), set[str]()
    for group in groups(long):
        group_names = {f.name for f in group}
        outside = sorted(set[str]().union(*(names[f.name] for f in group)) - group_names)
        called.update(outside)
        declared = [known[name].declaration() for name in outside]
        modules.append("".join([shared, *declared, *(f.visible() for f in group)]))
    kept = [f.visible() if f.name in called else f.text for f in functions if f.name not in moved]
    return [*modules, "".join([others, *(f.declaration() for f in long), *kept])]


def take_apart(text: str) -> tuple[list[Function], str]:
    """Return the functions of a module, and everything else in it."""
    functions: list[Function] = []
    others: list[str] = []
    at = 0
    text = "\n" + text
    while (start := text.find(BEGIN, at)) >= 0 and (close := text.find(END, start)) >= 0:
        end = close + len(END) - 1
        functions.append(Function(text[start + 1 : end + 1]))
        others.append(text[at : start + 1])
        at = end
    others.append(text[at:])
    return functions, "".join(others)


def common_prefix(names: Iterable[str]) -> str:
    """Return the word with which the names of all functions begin."""
    first = next(iter(names), "").partition("_")[0]
    return f"@{first}_"


def named(function: Function, prefix: str, known: Container[str]) -> set[str]:
    """Return the functions and the names of the kernel that a function refers to, except itself."""
    names = {name[1:] for name in re.findall(re.escape(prefix) + r"\w+", function.text)}
    names.update(name for name in NAME.findall(function.text) if name in known)
    return names - {function.name}


def is_shared(line: str) -> bool:
    """Return True for a line that every module needs: target, declarations, metadata."""
    return line.startswith(("target ", "declare ", "!"))


def groups(functions: Sequence[Function]) -> list[list[Function]]:
    """Divide functions into modules of about equal lengths in their order, at least two."""
    modules: list[list[Function]] = []
    limit = min(LARGEST_MODULE, max(SMALLEST_MODULE, sum(f.size for f in functions) // 2))
    size = limit
    for function in functions:
        if size + function.size > limit:
            modules.append([])
            size = 0
        modules[-1].append(function)
        size += function.size
    return modules
