"""Script files: from a path to plain YAML values. What they mean is checked in `script_check`.

YAML's own mistakes, and what YAML would let pass in silence (a key that stands twice), are told
with their line. Anchors and aliases are refused: a few lines of them unfold to gigabytes.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from noeta.backends.models.script import Script, ScriptError
from noeta.backends.models.script_check import check

if TYPE_CHECKING:
    import yaml

FILE_BYTES_MAX = 1_000_000


def read(path: str | Path) -> Script:
    """The script in a file. Raises ScriptError."""
    name = str(path)
    try:
        with open(path, "rb") as file:
            body = file.read(FILE_BYTES_MAX + 1)
    except FileNotFoundError as error:
        raise ScriptError(f"there is no script file {name!r}; check the path") from error
    except IsADirectoryError as error:
        raise ScriptError(f"{name!r} is a directory; name a script file in it") from error
    except (OSError, ValueError) as error:
        # ValueError: a NUL in the path.
        raise ScriptError(f"the script file {name!r} cannot be read: {error}") from error
    if len(body) > FILE_BYTES_MAX:
        raise ScriptError(
            f"the script file {name!r} is larger than {FILE_BYTES_MAX // 1_000_000} MB; make it"
            " shorter, or let a tool bring what is long"
        )
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        raise ScriptError(f"{name}, line {line}: this is not UTF-8; save it as UTF-8") from error
    return parse(text, name=name)


def parse(text: str, *, name: str) -> Script:
    """The script in a YAML text. Raises ScriptError."""
    # Imported here: who never loads a script does not pay for it.
    import yaml

    try:
        # libyaml's loader where PyYAML has it: the other takes 8 s for a script of 1 MB.
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)
        root = loader.get_single_node()
        if root is None:
            raise ScriptError(f"{name}: the script is empty; give it `steps:` and a list")
        _check_nodes(root, name)
        value: object = loader.construct_document(root)
    except yaml.YAMLError as error:
        raise _explained(error, name) from error
    except RecursionError as error:
        raise ScriptError(f"{name}: its values are nested too deeply; flatten them") from error
    except (ValueError, TypeError, LookupError) as error:
        # What int() and date() say of a value that only looks like one.
        raise ScriptError(f"{name}: a value is no good ({error}); put it in quotes") from error
    return check(value, name=name, lines=_step_lines(root))


def _explained(error: Exception, name: str) -> ScriptError:
    mark = getattr(error, "problem_mark", None)
    where = f"{name}, line {mark.line + 1}" if mark is not None else name
    problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
    return ScriptError(
        f"{where}: this is not valid YAML: {problem}; correct it there or just above"
    )


def _check_nodes(root: "yaml.Node", name: str) -> None:
    """No node stands twice (an alias), and no mapping has a key twice."""
    import yaml

    seen: set[int] = set()
    todo: list[yaml.Node] = [root]
    while todo:
        node = todo.pop()
        where = f"{name}, line {node.start_mark.line + 1}"
        if id(node) in seen:
            raise ScriptError(f"{where}: this value has an alias; write it out where it is used")
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            keys: set[str] = set()
            for key, value in node.value:
                if isinstance(key, yaml.ScalarNode) and key.value in keys:
                    line = key.start_mark.line + 1
                    raise ScriptError(
                        f"{name}, line {line}: {key.value!r} stands twice here; remove one"
                    )
                keys.add(str(key.value))
                todo += (key, value)
        elif isinstance(node, yaml.SequenceNode):
            todo += node.value


def _step_lines(root: "yaml.Node") -> list[int]:
    """The line each step starts on, from 1."""
    import yaml

    for key, value in root.value if isinstance(root, yaml.MappingNode) else ():
        if key.value == "steps" and isinstance(value, yaml.SequenceNode):
            return [node.start_mark.line + 1 for node in value.value]
    return []
