"""Which variables a command may set without changing what other programs do."""

from noeta.plugins.permissions.names import names

SAFE = names(
    "CI COLUMNS DEBUG FORCE_COLOR GOARCH GOOS LANG LANGUAGE LC_ALL LC_COLLATE LC_CTYPE LC_MESSAGES"
    " LC_NUMERIC LC_TIME LINES NODE_ENV NO_COLOR PYTHONDONTWRITEBYTECODE PYTHONUNBUFFERED"
    " PYTHONHASHSEED RUST_BACKTRACE RUST_LOG TERM TZ"
)
"""Before a command they change how it prints or how much it says, not what it runs.
Not here on purpose: PATH, LD_*, GIT_*, *PAGER, *EDITOR, PYTHONPATH, NODE_OPTIONS, IFS."""

_PROXIES = names("http_proxy https_proxy ftp_proxy all_proxy no_proxy")


def is_safe_before_command(name: str) -> bool:
    """Whether `NAME=value command` still is that command."""
    return name in SAFE


def is_safe_in_shell(name: str) -> bool:
    """Whether a script may set this variable for itself.

    Lower-case names belong to scripts; the environment's are upper-case, the proxies excepted.
    """
    if name in SAFE:
        return True
    return any(char.islower() for char in name) and name not in _PROXIES
