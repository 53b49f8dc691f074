"""Trust: which workspaces may bring settings of their own.

A workspace is named by its real path, so a link to it is the same one and another directory put
in its place under another path is not. What a workspace brings counts only after the user said
so; nothing in the workspace can say it.
"""

import errno
import os
from pathlib import Path

from noeta.host.home import Home


def is_trusted(home: Home, workspace: Path) -> bool:
    """Whether the user trusts this directory."""
    return str(_real(workspace)) in _read(home)


def trust(home: Home, workspace: Path) -> Path:
    """Trust a directory from now on, and give its real path. Raises OSError."""
    real = _real(workspace)
    if "\n" in str(real):
        # It would stand there as two paths, and one of them may be another workspace.
        raise OSError(errno.EINVAL, "a path with a line break cannot be trusted")
    lines = _read(home)
    if str(real) not in lines:
        _write(home, [*lines, str(real)])
    return real


def distrust(home: Home, workspace: Path) -> bool:
    """Trust it no more; False when it was not trusted. Raises OSError."""
    real = str(_real(workspace))
    lines = _read(home)
    if real not in lines:
        return False
    _write(home, [line for line in lines if line != real])
    return True


def _real(workspace: Path) -> Path:
    return workspace.resolve()


def _read(home: Home) -> list[str]:
    try:
        text = home.trust_path.read_bytes().decode("utf-8", errors="surrogateescape")
    except FileNotFoundError:
        return []
    # Not splitlines: a path may hold U+2028 and its like.
    return [line for line in text.split("\n") if line]


def _write(home: Home, lines: list[str]) -> None:
    home.make()
    temporary = home.trust_path.with_suffix(f".{os.getpid()}")
    text = "".join(f"{line}\n" for line in lines)
    temporary.write_bytes(text.encode("utf-8", errors="surrogateescape"))
    temporary.replace(home.trust_path)
