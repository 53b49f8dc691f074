"""Assembly: the only module that knows every part, and puts them together."""

import logging
import os
import random
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path

from noeta.backends.execenvs.local import LocalEnv
from noeta.backends.stores.sqlite import SqliteStore
from noeta.core.execenv import ExecEnv
from noeta.core.plugin import Plugin, PluginError
from noeta.core.registry import Registry
from noeta.core.runner.runtime import Runtime
from noeta.core.state import TaskState
from noeta.core.store import StoreUnavailable
from noeta.host import process
from noeta.host.background import ThreadBackground
from noeta.host.home import Home
from noeta.host.local import Deltas, LocalClient
from noeta.host.routes import Routes
from noeta.host.settings import Settings, expanded
from noeta.host.system_clock import SystemClock

SYSTEM = (
    "You are an agent run by noeta. Use the tools to do what the user asks, check what you did,"
    " and answer in plain words. A tool result may say that a call's outcome is unknown: look at"
    " the effect before you repeat such a call."
)
log = logging.getLogger("noeta")


def store_path(home: Home, settings: Settings) -> Path:
    """Where the sqlite store lies. Raises SettingsError."""
    return expanded(settings.store) if settings.store else home.store_path


def is_there(store: Path) -> bool:
    """Whether the store's file exists, as far as we may look."""
    return os.path.exists(store)


@asynccontextmanager
async def open_store(
    home: Home, settings: Settings, *, create: bool = True
) -> AsyncIterator[SqliteStore]:
    """The store the settings name. Raises StoreUnavailable, SettingsError."""
    path = store_path(home, settings)
    if not create and not is_there(path):
        raise StoreUnavailable(f"there is no store at {path} yet; start a task first")
    if path == home.store_path:
        try:
            home.make()
        except OSError as error:
            raise StoreUnavailable(
                f"cannot make {str(home.path)!r}: {error.strerror}; set NOETA_HOME to a"
                " directory that you may write to"
            ) from error
    store = await SqliteStore.open(path, clock=SystemClock())
    try:
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def open_client(home: Home, settings: Settings) -> AsyncIterator[LocalClient]:
    """A client with a worker in this process. Raises StoreUnavailable, PluginError."""
    registry = Registry(load_plugins(), system=(SYSTEM,))
    routes = Routes(settings, home=home)
    async with open_store(home, settings) as store, aclosing(routes):
        background = ThreadBackground()
        deltas = Deltas()
        runtime = Runtime(
            store,
            registry,
            model_for=routes.model_for,
            env_for=partial(_env_for, settings.lease_seconds),
            limits_for=routes.limits_for,
            cost_of=routes.cost_of,
            worker=process.worker_name(),
            queues=(process.local_queue(),),
            clock=SystemClock(),
            background=background,
            jitter=random.random,
            publish=deltas.publish_deltas,
            lease_seconds=settings.lease_seconds,
            dead_owners=process.dead_owners,
            on_bug=partial(_note_bug, home),
        )
        client = LocalClient(
            store,
            deltas=deltas,
            background=background,
            runtime=runtime,
            queue=process.local_queue(),
        )
        async with client.running():
            yield client


@asynccontextmanager
async def open_viewer(home: Home, settings: Settings) -> AsyncIterator[LocalClient]:
    """A client that looks and posts, and runs nothing. Raises StoreUnavailable."""
    async with open_store(home, settings, create=False) as store:
        yield LocalClient(store, deltas=Deltas(), background=ThreadBackground())


@asynccontextmanager
async def open_queue(home: Home, settings: Settings) -> AsyncIterator[LocalClient]:
    """A client that creates tasks for this host's workers and runs none itself."""
    async with open_store(home, settings) as store:
        yield LocalClient(
            store,
            deltas=Deltas(),
            background=ThreadBackground(),
            queue=process.local_queue(),
        )


def load_plugins() -> list[Plugin]:
    """The plugins that are installed, by name. Raises PluginError."""
    plugins: list[Plugin] = []
    for entry in sorted(entry_points(group="noeta.plugins"), key=lambda entry: entry.name):
        try:
            loaded = entry.load()
        except Exception as error:  # A plugin's boundary: its import may raise anything.
            raise PluginError(f"plugin {entry.name!r} cannot be imported: {error!r}") from error
        if not isinstance(loaded, Plugin):
            raise PluginError(f"plugin {entry.name!r}: {entry.value} is no noeta Plugin")
        plugins.append(loaded)
    return plugins


def silence_seconds(lease_seconds: float) -> float:
    """How long a worker may stand still before its commands are ended.

    A worker may freeze up to a third of a lease after its last renewal, and its commands must be
    gone before the lease is: a second is left for ending them. Half a lease at least, or a busy
    loop would end them.
    """
    return max(lease_seconds * 2 / 3 - 1.0, lease_seconds / 2)


def _env_for(lease_seconds: float, state: TaskState) -> ExecEnv:
    return LocalEnv.here(state.cwd, silence_seconds=silence_seconds(lease_seconds))


def _note_bug(home: Home, task_id: str, error: Exception) -> None:
    """Write a bug's traceback to the log file in the home."""
    if not log.handlers:
        try:
            log.addHandler(logging.FileHandler(home.log_path))
        except OSError:
            log.addHandler(logging.StreamHandler(sys.stderr))
        log.propagate = False
    log.error("internal error in task %s", task_id, exc_info=error)
