"""`python -m kinetree.testing`: check this installation, print a verdict, exit with 0 or 1."""

import argparse
import json
import sys
from collections.abc import Sequence

from kinetree.errors import KinetreeError
from kinetree.testing.conformance import run_conformance

PROGRAM = "python -m kinetree.testing"


def main(words: Sequence[str] | None = None) -> int:
    """Run the suite and return the exit code."""
    parser = argparse.ArgumentParser(
        PROGRAM,
        description="Check that this installation of kinetree computes what it computes on other "
        "machines. Takes about a minute and needs no other package.",
        epilog="exit codes: 0 it conforms; 1 a check failed; 2 wrong usage; 130 interrupted",
    )
    effects = {
        "--all": "compare the whole table of bits (takes minutes)",
        "--cuda": "also check CUDA kernels (needs CuPy and a GPU)",
        "--json": "print everything as JSON, for bug reports",
    }
    for name, effect in effects.items():
        parser.add_argument(name, action="store_true", help=effect)
    options = parser.parse_args(words)
    try:
        record = run_conformance(everything=options.all, cuda=options.cuda)
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
