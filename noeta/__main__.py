"""`python -m noeta`: the same as the `noeta` command."""

import sys

from noeta.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
