"""The kernel takes nothing from the air, and its decisions do no I/O.

`.importlinter` holds the layers; these hold what it cannot say.
"""

from tests.house.tree import imports, is_in, module_name, modules, names_used

# Whatever waits or differs from run to run is injected, so that the simulation can own it.
FROM_THE_AIR = (
    "_thread",
    "anyio.from_thread",
    "anyio.open_process",
    "anyio.run_process",
    "anyio.to_process",
    "anyio.to_thread",
    "asyncio",
    "concurrent",
    "datetime.date.today",
    "datetime.datetime.now",
    "datetime.datetime.today",
    "datetime.datetime.utcnow",
    "multiprocessing",
    "os.execv",
    "os.execve",
    "os.fork",
    "os.forkpty",
    "os.getrandom",
    "os.popen",
    "os.posix_spawn",
    "os.posix_spawnp",
    "os.system",
    "os.urandom",
    "random",
    "secrets",
    "subprocess",
    "threading",
    "time",
    "uuid",
)

PURE = (
    "action",
    "codec",
    "context",
    "errors",
    "events",
    "fold",
    "ids",
    "item",
    "message",
    "retry",
    "state",
    "task",
    "texts",
    "view",
)

PURE_MAY_IMPORT = (
    "collections",
    "dataclasses",
    "enum",
    "functools",
    "hashlib",
    "itertools",
    "json",
    "msgspec",
    "re",
    "typing",
    *(f"noeta.core.{name}" for name in PURE),
)

FRONT_ENDS_MAY_IMPORT = ("noeta.core", "noeta.frontends", "noeta.host.client")
FRONT_ENDS_MAY_NOT_IMPORT = ("noeta.core.runner", "noeta.core.store")


def test_the_kernel_takes_no_time_randomness_thread_or_process_from_the_air() -> None:
    """The clock, randomness, threads and processes of the kernel are injected."""
    broken = [
        f"{path}:{use.line} uses {use.name}"
        for path in modules("noeta/core")
        for use in (*imports(path), *names_used(path))
        for banned in FROM_THE_AIR
        if is_in(use.name, banned)
    ]
    assert sorted(set(broken)) == []


def test_pure_modules_import_only_pure_modules() -> None:
    """Words and decisions read no file, clock or network: what they import is on a short list."""
    broken = [
        f"{path}:{use.line} imports {use.name}"
        for path in modules("noeta/core")
        if module_name(path) in {f"noeta.core.{name}" for name in PURE}
        for use in imports(path)
        if not any(is_in(use.name, allowed) for allowed in PURE_MAY_IMPORT)
    ]
    assert broken == []


def test_front_ends_import_only_the_kernels_words_and_the_client() -> None:
    """A front end works with any host, near or far, since it knows the client alone."""
    broken = [
        f"{path}:{use.line} imports {use.name}"
        for path in modules("noeta/frontends")
        for use in imports(path)
        if is_in(use.name, "noeta")
        and (
            not any(is_in(use.name, allowed) for allowed in FRONT_ENDS_MAY_IMPORT)
            or any(is_in(use.name, banned) for banned in FRONT_ENDS_MAY_NOT_IMPORT)
        )
    ]
    assert broken == []
