"""Write or check the table of bits, src/kinetree/testing/bits.txt, on all processors.

    python tools/store_bits.py              compute all hashes and write the table
    python tools/store_bits.py --check      compute all hashes and list those that differ
    python tools/store_bits.py --check panda drawn_03

The table changes only with a reason that the changelog states: a change of the compiler, of an
algorithm, or of the numbers of a model. Kernels are compiled anew; the disk cache is not used.
"""

import argparse
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

os.environ["KINETREE_CACHE"] = "off"  # of this process and of those that it starts
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

PLACE = Path(__file__).resolve().parents[1] / "src/kinetree/testing/bits.txt"
HEAD = """\
# Hashes of the numbers of 80 robots and of 20 quantities each, at 8 states; see bits.py.
# type robot model {quantities}
"""


def line(kind: str, name: str) -> tuple[str, str, list[str]]:
    """Return type, robot and hashes of one line of the table."""
    import warnings

    from kinetree.testing import bits

    warnings.simplefilter("ignore")
    robot = dict(bits.robots())[name]()
    columns = (bits.MODEL, *bits.QUANTITIES)
    return kind, name, [bits.found_hash(robot, column, dtype=kind) for column in columns]


def jobs(names: list[str]) -> list[tuple[str, str]]:
    """Return the lines of the table as (type, robot), those of float64 first."""
    from kinetree.testing import bits

    everything = [("float64", name) for name, _ in bits.robots()]
    everything += [("float32", name) for name in bits.float32_names()]
    return [job for job in everything if not names or job[1] in names]


def computed(wanted: list[tuple[str, str]]) -> dict[tuple[str, str], list[str]]:
    """Return the hashes of every line, with progress on standard error."""
    found: dict[tuple[str, str], list[str]] = {}
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for kind, name, hashes in pool.map(line, *zip(*wanted, strict=True)):
            found[kind, name] = hashes
            print(f"\r{len(found)} of {len(wanted)} lines", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return found


def differences(found: dict[tuple[str, str], list[str]]) -> list[str]:
    """Return one sentence for every hash that is not the stored one."""
    from kinetree.testing import bits

    lines: list[str] = []
    for (kind, name), hashes in found.items():
        stored = bits.stored_table(kind).get(name, {})
        for column, hashed in zip((bits.MODEL, *bits.QUANTITIES), hashes, strict=True):
            if stored.get(column) != hashed:
                lines.append(f"{kind} {name} {column}: stored {stored.get(column)}, found {hashed}")
    return lines


def main() -> None:
    """Write the table, or compare it."""
    from kinetree.testing import bits

    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="compare and write nothing")
    parser.add_argument("robots", nargs="*", help="only these robots, with --check")
    given = parser.parse_args()
    if given.robots and not given.check:
        parser.error("the table is written for all robots; name robots with --check only")
    unknown = set(given.robots) - {name for name, _ in bits.robots()}
    if unknown:
        parser.error(f"there is no robot {sorted(unknown)[0]} in the table")
    found = computed(jobs(given.robots))
    if given.check:
        wrong = differences(found)
        print("\n".join(wrong) or "all hashes are those of the table")
        sys.exit(1 if wrong else 0)
    rows = [f"{kind} {name} {' '.join(hashes)}" for (kind, name), hashes in found.items()]
    head = HEAD.format(quantities=" ".join(bits.QUANTITIES))
    text = head + "\n".join(rows) + "\n"
    PLACE.write_text(text, "ascii", newline="\n")


if __name__ == "__main__":
    main()
