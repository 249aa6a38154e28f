"""`python -m kinetree.testing`: check this installation, print a verdict, exit with 0 or 1."""

import argparse
import json
import sys
from collections.abc import Sequence

from kinetree.errors import KinetreeError
from kinetree.testing.conformance import GROUPS, run_conformance

PROGRAM = "python -m kinetree.testing"
OPTIONS = {
    "--all": "compare the whole table of bits (takes minutes)",
    "--cuda": "also check CUDA kernels (needs CuPy and a GPU)",
    "--json": "print everything as JSON, for bug reports",
}


def parser() -> argparse.ArgumentParser:
    """The parser of the options."""
    groups = "\n".join(f"  {name:10}  {title}" for name, title in GROUPS.items())
    options = argparse.ArgumentParser(
        PROGRAM,
        usage=f"{PROGRAM} [OPTIONS]",
        description="Check that this installation of kinetree computes what it computes on other\n"
        "machines. Takes about a minute and needs no other package.",
        epilog=f"groups:\n{groups}\n\nexit codes: 0 this installation conforms; 1 a check failed; "
        "2 wrong usage;\n130 interrupted",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    effect = "run one group of checks; may be repeated"
    options.add_argument("--only", action="append", choices=GROUPS, metavar="GROUP", help=effect)
    for name, effect in OPTIONS.items():
        options.add_argument(name, action="store_true", help=effect)
    return options


def main(words: Sequence[str] | None = None) -> int:
    """Run the suite and return the exit code."""
    options = parser().parse_args(words)
    try:
        record = run_conformance(options.only, everything=options.all, cuda=options.cuda)
    except KinetreeError as error:  # such as a wrong value of KINETREE_TARGET
        print(f"{PROGRAM}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"{PROGRAM}: interrupted", file=sys.stderr)
        return 130
    print(json.dumps(record.document(), indent=1) if options.json else record)
    return 0 if record.ok else 1


if __name__ == "__main__":
    sys.exit(main())
