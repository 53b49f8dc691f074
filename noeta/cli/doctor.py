"""`noeta doctor`: what this machine, the settings and the store look like, and what to mend."""

import argparse
import json
import os
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import anyio

from noeta import __version__
from noeta.backends.stores.sqlite_open import sqlite_note
from noeta.cli.context import Context, context_of
from noeta.core.errors import NoetaError
from noeta.host.assemble import is_there, load_plugins, open_viewer, store_path
from noeta.host.home import Home
from noeta.host.routes import checked_route
from noeta.host.settings import SETTING_NAMES, home_of


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the doctor's."""

    level: Literal["ok", "note", "problem"]
    what: str
    says: str


def doctor(args: argparse.Namespace) -> int:
    """Print the findings; 1 when one of them is a problem."""
    findings = anyio.run(_all, args)
    if args.json:
        print(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        for finding in findings:
            print(f"{finding.level:<8} {finding.what:<12} {finding.says}")
    return 1 if any(finding.level == "problem" for finding in findings) else 0


async def _all(args: argparse.Namespace) -> list[Finding]:
    findings = list(_machine())
    try:
        findings.append(_home(home_of(os.environ)))
    except NoetaError as error:
        return [*findings, Finding("problem", "home", str(error))]
    try:
        context = context_of(args)
    except NoetaError as error:
        return [*findings, Finding("problem", "settings", str(error))]
    findings += _settings(context)
    findings += _plugins()
    findings.append(await _store(context))
    return findings


def _machine() -> Iterator[Finding]:
    version = ".".join(map(str, sys.version_info[:3]))
    yield Finding("ok", "noeta", f"{__version__} on Python {version}")
    note = sqlite_note()
    yield Finding("note" if note else "ok", "sqlite", note or sqlite3.sqlite_version)
    bash = shutil.which("bash")
    yield (
        Finding("ok", "bash", bash)
        if bash
        else Finding("note", "bash", "not found; commands are run with /bin/sh")
    )


def _home(home: Home) -> Finding:
    writable = _nearest(home.path)
    if os.access(writable, os.W_OK | os.X_OK):
        return Finding("ok", "home", str(home.path))
    return Finding(
        "problem", "home", f"{writable} cannot be written to; set NOETA_HOME to another place"
    )


def _nearest(path: Path) -> Path:
    """The path, or the nearest directory above it that exists."""
    while not os.path.exists(path):
        path = path.parent
    return path


def _settings(context: Context) -> Iterator[Finding]:
    for source in context.loaded.sources:
        if source.problem:
            yield Finding("note", "settings", f"{source.name}: {source.problem}")
    for name in SETTING_NAMES:
        value = getattr(context.loaded.settings, name)
        if isinstance(value, dict):
            # Names only: headers may hold what is nobody's business.
            value = sorted(value)
        yield Finding("ok", "setting", f"{name} = {value!r} ({context.loaded.origin(name)})")
    model = context.loaded.settings.model
    if not model:
        yield Finding("note", "model", "none is chosen; give --model or set NOETA_MODEL")
        return
    try:
        settings = context.loaded.settings
        route = checked_route(model, context.workspace, settings, home=context.home)
        yield Finding("ok", "model", route)
    except NoetaError as error:
        yield Finding("problem", "model", str(error))


def _plugins() -> Iterator[Finding]:
    try:
        for plugin in load_plugins():
            tools = ", ".join(tool.name for tool in plugin.tools)
            yield Finding("ok", "plugin", f"{plugin.name} {plugin.version}: {tools}")
    except NoetaError as error:
        yield Finding("problem", "plugin", str(error))


async def _store(context: Context) -> Finding:
    try:
        path = store_path(context.home, context.loaded.settings)
        if not is_there(path):
            return Finding("ok", "store", f"{path} (made with the first task)")
        async with open_viewer(context.home, context.loaded.settings) as client:
            rows = await client.tasks(limit=10_000)
    except NoetaError as error:
        return Finding("problem", "store", str(error))
    running = sum(row.status == "running" for row in rows)
    return Finding("ok", "store", f"{path}: {len(rows)} tasks, {running} running")
