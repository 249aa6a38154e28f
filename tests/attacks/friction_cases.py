"""Compare random motions with dry friction with the time-stepping scheme, one line a difference.

python tests/attacks/friction_cases.py --count 3000 --seed 1
"""

import argparse
import collections
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

import attack_friction as friction


def main() -> int:
    """Run the cases; 1 where one differs by more than the step error of the scheme."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=3000, help="number of cases")
    parser.add_argument("--seed", type=int, default=1, help="of the first case")
    parser.add_argument("--method", default="dop853")
    options = parser.parse_args()
    families, start = list(friction.FAMILIES), time.monotonic()
    cases, failures = collections.Counter(), collections.Counter()
    for k in range(options.count):
        family = families[k % len(families)]
        seed = options.seed + k
        data = friction.draw(np.random.default_rng(seed), family)
        motion = friction.simulate(family, data, method=options.method)
        difference = friction.compare(family, data, motion)
        cases[family] += 1
        if difference is not None:
            failures[family] += 1
            print(f"{family}, seed {seed}: {difference}", flush=True)
    for family in families:
        print(f"{family:16} {cases[family]:6} cases {failures[family]:6} off")
    total = sum(failures.values())
    print(f"{options.count} cases, {total} off, {time.monotonic() - start:.0f} s")
    return 1 if total else 0


if __name__ == "__main__":
    sys.exit(main())
