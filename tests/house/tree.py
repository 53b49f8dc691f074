"""The tree as text: which files there are, and what a module imports and calls.

The house tests read source text, so that they hold for a module nobody has imported yet.
"""

import ast
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """A dotted name at a line; an import is the module or, after `from`, the module's member."""

    name: str
    line: int


def modules(under: str = "noeta") -> list[Path]:
    """The Python files below a directory of the tree, as paths from the root, in order."""
    found = sorted(path.relative_to(ROOT) for path in (ROOT / under).rglob("*.py"))
    assert found, f"no Python files under {under}"
    return found


def module_name(path: Path) -> str:
    """The dotted name a file is imported by."""
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def text(path: Path) -> str:
    """A file's text; path counts from the root."""
    return (ROOT / path).read_text(encoding="utf-8")


@cache
def parsed(path: Path) -> ast.Module:
    """A module's syntax tree; path counts from the root."""
    return ast.parse(text(path), filename=str(path))


def imports(path: Path) -> Iterator[Use]:
    """What a module imports, wherever in it: `from a import b` gives `a.b`."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Use(name=alias.name, line=node.lineno)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            assert node.level == 0, f"{path}:{node.lineno} has a relative import"
            for alias in node.names:
                yield Use(name=f"{module}.{alias.name}", line=node.lineno)


def names_used(path: Path) -> Iterator[Use]:
    """Every dotted name that starts at an import, spelled as the module it comes from."""
    spelled: dict[str, str] = {}
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                # `import a.b` binds `a`; `import a.b as c` binds `c` to `a.b`.
                first = alias.name.partition(".")[0]
                spelled[alias.asname or first] = alias.name if alias.asname else first
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                spelled[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Attribute | ast.Name) and (dotted := _dotted(node)):
            head, _, rest = dotted.partition(".")
            if head in spelled:
                name = f"{spelled[head]}.{rest}" if rest else spelled[head]
                yield Use(name=name, line=node.lineno)


def is_in(name: str, prefix: str) -> bool:
    """Whether a dotted name is the prefix or stands below it."""
    return name == prefix or name.startswith(prefix + ".")


def files() -> list[Path]:
    """Every file that is, or would be, under version control, as paths from the root."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
    ).stdout.decode()
    found = sorted({Path(name) for name in listed.split("\0") if name})
    return [path for path in found if (ROOT / path).is_file()]


def _dotted(node: ast.expr) -> str:
    """`a.b.c` of an attribute chain that starts at a name, else the empty string."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join(reversed([*parts, node.id]))
