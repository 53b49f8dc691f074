"""The tree of errors that `noeta/core/errors.py` draws is the tree there is."""

import importlib
import pkgutil
import re

import noeta
from noeta.core import errors

# "│   ├── FileMissing   execenv: files could not be reached": bars, name, perhaps its module.
_BRANCH = re.compile(r"(?P<bars>(?:│   |    )*)[├└]── (?P<name>\w+)(?: +(?P<module>\w+):)?")

_Drawn = set[tuple[str, str, str]]
"""(error, the error it descends from, the last name of its module)"""


def test_the_drawn_error_tree_is_the_real_one() -> None:
    """Every error of noeta is drawn under the one it descends from, beside its module's name."""
    for found in pkgutil.walk_packages(noeta.__path__, "noeta."):
        if not found.name.endswith("__main__"):
            importlib.import_module(found.name)

    assert _drawn() == _real(errors.NoetaError)


def _drawn() -> _Drawn:
    """The tree in the docstring. A branch that names no module lives in its parent's."""
    assert errors.__doc__, "the drawing is the module's docstring"
    drawn: _Drawn = set()
    # The path from the root to the last branch read, as (name, module).
    path = [("NoetaError", "errors")]
    for line in errors.__doc__.splitlines():
        if match := _BRANCH.match(line):
            depth = len(match["bars"]) // 4
            assert depth < len(path), f"{line!r} hangs under nothing"
            del path[depth + 1 :]
            parent, parent_module = path[-1]
            path.append((match["name"], match["module"] or parent_module))
            drawn.add((match["name"], parent, path[-1][1]))
    return drawn


def _real(parent: type[errors.NoetaError]) -> _Drawn:
    """The classes below one, as far as noeta defines them."""
    real: _Drawn = set()
    for child in parent.__subclasses__():
        package, _, module = child.__module__.rpartition(".")
        if package.split(".")[0] == "noeta":
            real |= {(child.__name__, parent.__name__, module), *_real(child)}
    return real
