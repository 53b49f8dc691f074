"""Importing noeta does nothing, and asking for its version loads next to nothing."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

from tests.house.tree import ROOT, module_name, modules, text

# Each costs from 20 ms to seconds, and is imported where it is used.
HEAVY = {
    "anyio",
    "asyncio",
    "httpx2",
    "msgspec",
    "psycopg",
    "pydantic",
    "sqlite3",
    "starlette",
    "textual",
    "tree_sitter",
    "uvicorn",
    "yaml",
}

# Python with argparse loads 54 to 65; the rest is room for our own.
VERSION_MODULES_MAX = 100

_IMPORT_ALL = """
import builtins, importlib, json, os, sys
modules, package = json.loads(sys.argv[1]), sys.argv[2]
done = []

def by_noeta():
    # The nearest frame that is ours or the import system's says who acts.
    frame = sys._getframe(2)
    while frame is not None:
        name = frame.f_code.co_filename
        if name.startswith("<frozen importlib"):
            return False
        if name.startswith(package):
            return True
        frame = frame.f_back
    return False

ACTS = ("open", "os.", "shutil.", "socket.", "sqlite3.connect", "subprocess.Popen", "tempfile.",
        "glob.", "pathlib.")

def hook(event, args):
    if event.startswith(ACTS) and by_noeta():
        done.append(f"{current}: {event} {args!r}")

def watched(original):
    def read(self, key):
        if by_noeta():
            done.append(f"{current}: reads the environment, {key!r}")
        return original(self, key)
    return read

current = ""
os._Environ.__getitem__ = watched(os._Environ.__getitem__)
sys.addaudithook(hook)
for current in modules:
    importlib.import_module(current)
current = ""
sys.__stderr__.flush()
print("<done>" + json.dumps(done))
"""

_VERSION = """
import sys
sys.argv = ["noeta", "--version"]
try:
    from noeta.cli.main import main
    main()
except SystemExit as exit:
    assert not exit.code, exit.code
print("\\n".join(["<modules>", *sys.modules]))
"""


def test_importing_noeta_touches_no_file_no_environment_and_prints_nothing(tmp_path: Path) -> None:
    """A program that embeds noeta pays for what it calls, not for what it imports."""
    names = [module_name(path) for path in modules() if path.stem != "__main__"]

    ran = _python(_IMPORT_ALL, json.dumps(names), f"{ROOT / 'noeta'}{os.sep}", cwd=tmp_path)

    printed, _, done = ran.stdout.partition("<done>")
    assert (printed, ran.stderr, ran.returncode) == ("", "", 0)
    assert json.loads(done) == []
    assert list(tmp_path.iterdir()) == []


def test_the_version_is_printed_without_loading_a_heavy_module(tmp_path: Path) -> None:
    """`noeta --version` answers at once, from the version in pyproject.toml."""
    ran = _python(_VERSION, cwd=tmp_path)

    assert (ran.stderr, ran.returncode) == ("", 0)
    printed, _, loaded = ran.stdout.partition("<modules>\n")
    version = tomllib.loads(text(Path("pyproject.toml")))["project"]["version"]
    assert printed == f"noeta {version}\n"
    names = loaded.split()
    assert sorted(HEAVY & {name.split(".")[0] for name in names}) == []
    assert len(names) <= VERSION_MODULES_MAX, sorted(names)


def _python(code: str, *args: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run code in a fresh interpreter whose home and working directory are an empty one."""
    environ = {**os.environ, "HOME": str(cwd), "PYTHONDONTWRITEBYTECODE": "1"}
    # A pytest worker sets these for itself.
    for name in ("PYTHONPATH", "PYTHONWARNINGS", "NOETA_HOME"):
        environ.pop(name, None)
    environ["PYTHONPATH"] = str(ROOT)
    return subprocess.run(
        [sys.executable, "-c", code, *args],
        cwd=cwd,
        env=environ,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
