"""What every command starts from: the home, the workspace and the settings in force."""

import argparse
import os
from dataclasses import dataclass
from pathlib import Path

from noeta.host.home import Home
from noeta.host.settings import Loaded, home_of, load_settings, workspace_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """Where a command works and by which settings."""

    home: Home
    workspace: Path
    loaded: Loaded


def context_of(args: argparse.Namespace) -> Context:
    """The context of a command line. Raises SettingsError."""
    home = home_of(os.environ)
    workspace = workspace_of(getattr(args, "cwd", None))
    flags = {
        "model": getattr(args, "model", None),
        "permission_mode": getattr(args, "permission_mode", None),
    }
    loaded = load_settings(home, workspace, environ=os.environ, flags=flags)
    return Context(home=home, workspace=workspace, loaded=loaded)
