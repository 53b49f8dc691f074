"""`python -m bench [--only NAME] [--json FILE]`: run the benches and print their tables."""

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from bench import fold, processes, step

BENCHES: dict[str, Callable[[Path], list[str]]] = {
    "step": step.run,
    "fold": fold.run,
    "processes": processes.run,
}


def main() -> int:
    """Run the benches that were asked for."""
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--only", choices=sorted(BENCHES), help="one of them; default: all")
    args = parser.parse_args()
    for name, run in BENCHES.items():
        if args.only not in (None, name):
            continue
        print(f"== {name}", flush=True)
        # In the working directory: a temporary file system may have no disk behind it.
        with tempfile.TemporaryDirectory(dir=".", prefix=".bench-") as directory:
            for line in run(Path(directory).absolute()):
                print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
