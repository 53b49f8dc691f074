"""Paths: where one leads, which rules mean it, and which are never touched without a question.

Nothing here looks at a disk. Where a path really leads is a fact that the caller hands in, one
for each path of `Place.targets`; a path without one leads nobody knows where, so it is asked about.
"""

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from pathspec import GitIgnoreSpec

from noeta.plugins.permissions.names import names


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a call is made, and what was found out about its paths."""

    cwd: str
    """Absolute, as are all paths here."""
    home: str
    added_dirs: tuple[str, ...] = ()
    targets: Mapping[str, str] = field(default_factory=dict[str, str])
    """From a path, as `absolute` gives it, to the real path of it or of what exists of it."""
    hard_linked: frozenset[str] = frozenset()
    """Paths whose file has a second name somewhere."""

    @property
    def roots(self) -> tuple[str, ...]:
        """The directories that are worked in, as named and as they really are."""
        named = [posixpath.normpath(path) for path in (self.cwd, *self.added_dirs)]
        real = [self.targets.get(path, path) for path in (self.cwd, *self.added_dirs)]
        return tuple(dict.fromkeys([*named, *real]))


def absolute(text: str, base: str, home: str) -> str:
    """The path as an absolute one. `..` stays: behind a link it leads elsewhere than it reads."""
    if text == "~" or text.startswith("~/"):
        return home + text[1:]
    return text if text.startswith("/") else f"{base.rstrip('/')}/{text}"


def names_of(path: str, place: Place) -> tuple[str, str | None]:
    """The path as it reads, and the path it leads to; None: nobody looked."""
    lexical = posixpath.normpath(path)
    if lexical.startswith("//"):
        lexical = lexical[1:]
    return lexical, place.targets.get(path)


def is_below(path: str, directory: str) -> bool:
    """Whether the path is the directory or something in it."""
    return path == directory or path.startswith(directory.rstrip("/") + "/")


def is_worked_in(path: str, place: Place) -> bool:
    """Whether the path and where it leads both are within the directories that are worked in."""
    lexical, target = names_of(path, place)
    return target is not None and all(
        any(is_below(name, root) for root in place.roots) for name in (lexical, target)
    )


def spec_covers(spec: str, path: str, *, root: str, place: Place, anywhere: bool) -> bool:
    """Whether a path rule's pattern, read as in a .gitignore, means this absolute path.

    `//x` is absolute, `~/x` below home, `/x` below the rule's own root; anything else is below
    cwd, or with `anywhere` at any depth.
    """
    if spec.startswith("//"):
        base, pattern = "/", spec[1:]
    elif spec == "~" or spec.startswith("~/"):
        base, pattern = place.home, spec[1:] or "/**"
    elif spec.startswith("/"):
        base, pattern = root, spec
    else:
        base, pattern = place.cwd, re.sub(r"^(\./+)+", "", spec)
        while pattern == ".." or pattern.startswith("../"):
            base, pattern = posixpath.dirname(base), pattern[3:]
        if pattern in ("", "."):
            pattern = "**"
        if anywhere and not spec.startswith("../"):
            base, pattern = "/", f"**/{pattern}"
    if not is_below(path, posixpath.normpath(base)):
        return False
    below = path[len(posixpath.normpath(base).rstrip("/")) :].lstrip("/")
    git = _git_pattern(pattern)
    if git is None:
        return anywhere
    if git.match_file(below or "."):
        return True
    # `secrets/**` is about everything in secrets, so listing or searching secrets itself is meant.
    return anywhere and pattern.endswith("/**") and git.match_file(f"{below}/x")


def is_pattern(spec: str) -> bool:
    """Whether the text is a pattern that can be compared at all."""
    body = spec[1:] if spec.startswith("//") else spec
    return bool(body.strip("/")) and not body.startswith("!") and _git_pattern(body) is not None


@lru_cache(maxsize=4096)
def _git_pattern(pattern: str) -> GitIgnoreSpec | None:
    # A leading `#` or `!` would be a comment or a negation: here it is the name's first letter.
    line = "\\" + pattern if pattern[:1] in ("#", "!") else pattern
    try:
        return GitIgnoreSpec.from_lines([line])
    except (ValueError, re.error):
        return None


def escaped_path(path: str) -> str:
    """The pattern that means this absolute path and nothing else."""
    bare = path.rstrip(" ")
    return "/" + re.sub(r"([\\*?\[\]!#])", r"\\\1", bare) + "\\ " * (len(path) - len(bare))


_PROTECTED_DIRS = names(".git .vscode .idea .husky .cargo .devcontainer .yarn .mvn .claude .noeta")
_WITH_WORKTREES = frozenset([".claude", ".noeta"])
_PROTECTED_FILES = names(
    ".bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile"
    " .zlogin .zlogout .kshrc .cshrc .tcshrc .login .xprofile .envrc config.fish .npmrc .yarnrc"
    " .yarnrc.yml .pnp.cjs .pnp.js .pnp.loader.mjs .pnpmfile.cjs .bazelrc .pre-commit-config.yaml"
    " .pre-commit-config.yml lefthook.yml lefthook.yaml lefthook.toml lefthook.json .lefthook.yml"
    " .lefthook.yaml .lefthook.toml .lefthook.json lefthook-local.yml .lefthook-local.yml"
    " gradle-wrapper.properties maven-wrapper.properties .ripgreprc pyrightconfig.json .mcp.json"
    " .claude.json .gitconfig .gitmodules"
)


def protected_part(path: str, place: Place) -> str | None:
    """The part of the path, or of where it leads, that makes other programs run things."""
    lexical, target = names_of(path, place)
    for name in (lexical, target or lexical):
        within = [root for root in place.roots if is_below(name, root)]
        below = name[max((len(root.rstrip("/")) for root in within), default=0) :]
        parts = [part.lower() for part in below.split("/") if part]
        for index, part in enumerate(parts):
            following = parts[index + 1 : index + 2]
            if part in _WITH_WORKTREES and following == ["worktrees"]:
                continue
            if part in _PROTECTED_DIRS:
                return part
            if part == ".config" and following == ["git"]:
                return ".config/git"
        if parts and parts[-1] in _PROTECTED_FILES:
            return parts[-1]
    return None


def is_critical(path: str, place: Place) -> bool:
    """Whether removing the path would take the system, the home or the work with it."""
    lexical, target = names_of(path, place)
    kept = (*place.roots, posixpath.normpath(place.home))
    for name in (lexical, target or lexical):
        if posixpath.dirname(name) == "/" or any(is_below(root, name) for root in kept):
            return True
    return False
