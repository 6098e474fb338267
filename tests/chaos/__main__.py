"""``python -m tests.chaos``: the long run, as ``make chaos`` starts it."""

import argparse
import json
import random
import sys

from tests.chaos.network import permitted
from tests.chaos.run import Plan, run


def main() -> int:
    """0 when nothing broke."""
    parser = argparse.ArgumentParser(prog="make chaos", description="A whole installation under random faults.")
    parser.add_argument("--minutes", type=float, default=2.0, help="how long faults come (2)")
    parser.add_argument("--seed", type=int, help="the same seed makes the same faults and batches")
    parser.add_argument("--lines", type=int, default=400, help="most lines of a batch (400)")
    parser.add_argument("--keep", action="store_true", help="keep the logs of all processes")
    given = parser.parse_args()
    seed = given.seed if given.seed is not None else random.SystemRandom().randrange(1_000_000)
    why_not = permitted()
    if why_not:
        print(f"no network is cut here, for namespaces may not be made: {why_not}")
    print(f'seed {seed}; the same again: make chaos ARGS="--minutes {given.minutes:g} --seed {seed}"', flush=True)
    verdict = run(Plan(seed, given.minutes * 60, lines=given.lines, cuts=not why_not, keep=given.keep))
    print(json.dumps(verdict.figures, indent=2))
    print("looked at: " + ", ".join(f"{name} {n}x" for name, n in sorted(verdict.checked.items())))
    for each in verdict.broken:
        print(f"BROKEN  {each}")
    print("nothing broke" if not verdict.broken else f"{len(verdict.broken)} things broke; seed {seed}")
    return 1 if verdict.broken else 0


if __name__ == "__main__":
    sys.exit(main())
