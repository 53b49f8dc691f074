"""What of a worker's environment its commands may see.

Dropped are the secrets that noeta itself runs on: everything of ours, the keys of model
providers, and the addresses of databases. Kept are the credentials that a person's own commands
need (GITHUB_TOKEN for `gh`, AWS_* for `aws`, SSH_AUTH_SOCK for `git push`, a proxy's password).
It is a rule about what is handed over, not a wall: a command of the same user can still look at
/proc/<worker>/environ. A wall is another exec env (a container).
"""

from collections.abc import Collection, Mapping
from fnmatch import fnmatchcase

SECRET_PATTERNS = (
    "NOETA_*",
    "*_API_KEY",
    "*_API_TOKEN",
    "*_AUTH_TOKEN",
    "*_DSN",
    "*DATABASE_URL",
    "*_CONNECTION_STRING",
    "AWS_BEARER_TOKEN_BEDROCK",
    "HF_TOKEN",
    "HUGGING_FACE_HUB_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "DSN",
    "MYSQL_PWD",
    "PGPASSWORD",
    "REDISCLI_AUTH",
)
"""Names that are not handed over, as shell patterns; compared without case."""

KEPT_NAMES = ("NOETA_HOME",)
"""Exceptions to the patterns: no secret, and a `noeta` in a command must find the same home."""

DATABASE_SCHEMES = (
    "amqp",
    "amqps",
    "mongodb",
    "mssql",
    "mysql",
    "mariadb",
    "oracle",
    "postgres",
    "postgresql",
    "redis",
    "rediss",
)
"""A URL of one of these with a user in it is dropped whatever its variable is called."""

UNATTENDED = {
    "DEBIAN_FRONTEND": "noninteractive",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "PAGER": "cat",
    "TERM": "dumb",
}
"""Set for every command: there is nobody to page for and nobody to ask."""


def scrub(
    environ: Mapping[str, str],
    *,
    secret_patterns: Collection[str] = SECRET_PATTERNS,
    kept_names: Collection[str] = KEPT_NAMES,
) -> dict[str, str]:
    """The environment without secrets, made fit for running unattended."""
    kept = {
        name: value
        for name, value in environ.items()
        if name in kept_names
        or not (_is_secret_name(name, secret_patterns) or _is_database_address(value))
    }
    return kept | UNATTENDED


def _is_secret_name(name: str, secret_patterns: Collection[str]) -> bool:
    return any(fnmatchcase(name.upper(), pattern) for pattern in secret_patterns)


def _is_database_address(value: str) -> bool:
    scheme, found, rest = value.partition("://")
    # What follows a plus is a driver or a lookup: "postgresql+psycopg", "mongodb+srv".
    known = scheme.lower().split("+")[0] in DATABASE_SCHEMES
    return bool(found) and known and "@" in rest
