"""`noeta trust`: which workspaces may bring settings of their own."""

import argparse
import os

from noeta.core.errors import NoetaError
from noeta.host import trust as trusted
from noeta.host.settings import home_of, workspace_of


def trust(args: argparse.Namespace) -> int:
    """Trust a directory, or stop trusting it."""
    home = home_of(os.environ)
    workspace = workspace_of(args.directory)
    try:
        if args.remove:
            was = trusted.distrust(home, workspace)
            print(f"{workspace} {'is not trusted any more' if was else 'was not trusted'}")
        else:
            print(f"{trusted.trust(home, workspace)} is trusted: its .noeta settings count now")
    except OSError as error:
        raise NoetaError(
            f"cannot write {home.trust_path} ({error.strerror}); make it and its directory writable"
        ) from error
    return 0
