"""NOETA_HOME: where noeta keeps what is its own, and the names of what is in it."""

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Home:
    """The directory, `~/.noeta` unless NOETA_HOME says otherwise. Made when first written to."""

    path: Path

    @classmethod
    def from_environ(cls, environ: os._Environ[str] | dict[str, str]) -> "Home":
        """The home these environment variables name."""
        named = environ.get("NOETA_HOME", "")
        return cls(Path(named).expanduser().absolute() if named else Path.home() / ".noeta")

    @property
    def store_path(self) -> Path:
        """The sqlite store that is used when no other is named."""
        return self.path / "noeta.db"

    @property
    def settings_path(self) -> Path:
        """The user's settings."""
        return self.path / "settings.toml"

    @property
    def trust_path(self) -> Path:
        """The workspaces the user trusts, one real path a line."""
        return self.path / "trusted"

    @property
    def log_path(self) -> Path:
        """Tracebacks of noeta's own bugs."""
        return self.path / "noeta.log"

    def make(self) -> None:
        """Make the directory, for the user alone. Raises OSError."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
