"""Running tasks: the chat, one prompt, and carrying on."""

import argparse
import sys

import anyio

from noeta.cli.context import Context, context_of
from noeta.core.message import Usage
from noeta.core.task import TaskRow
from noeta.frontends.line import Terminal, chat, run_prompt
from noeta.host.assemble import open_client
from noeta.host.client import Client, PromptRefused, TaskRequest, check_message
from noeta.host.process import describe, is_dead, local_queue
from noeta.host.routes import Routes, checked_route
from noeta.host.settings import SettingsError

STDIN_BYTES_MAX = 10 * 1024 * 1024


def run(args: argparse.Namespace) -> int:
    """The `noeta` command without a subcommand."""
    if args.resume is not None and args.continue_:
        raise SettingsError("--resume and --continue exclude each other; --resume ID names one")
    if args.output_format and args.prompt is None:
        raise SettingsError(
            '--output-format goes with -p, as in: noeta -p "..." --output-format json'
        )
    context = context_of(args)
    return anyio.run(_run, args, context)


async def _run(args: argparse.Namespace, context: Context) -> int:
    terminal = Terminal.standard()
    carries_on = args.resume is not None or args.continue_
    prompt = _prompt(args, carries_on)
    request = None if carries_on else _request(args, context, prompt)
    async with open_client(context.home, context.loaded.settings) as client:
        opening: TaskRequest | str
        if request is not None:
            opening = request
        else:
            row = await _carried_on(client, args, context)
            opening = row.id
        # A task that is carried on keeps its model unless a flag names another.
        model = ""
        if args.model and carries_on:
            settings = context.loaded.settings
            model = checked_route(args.model, context.workspace, settings, home=context.home)
        if args.prompt is None:
            return await chat(client, opening, terminal=terminal, model=model)
        return await run_prompt(
            client,
            opening,
            prompt=prompt,
            terminal=terminal,
            format=args.output_format or "text",
            model=model,
        )


def _prompt(args: argparse.Namespace, carries_on: bool) -> str | None:
    """What -p runs; None: nothing new, the open turn is carried on."""
    if args.prompt is None:
        return None
    text: str = args.prompt
    if not text and sys.stdin is not None and not sys.stdin.isatty():
        data = sys.stdin.buffer.read(STDIN_BYTES_MAX + 1)
        if len(data) > STDIN_BYTES_MAX:
            raise PromptRefused("stdin holds more than 10 MiB; put it in a file and name the file")
        text = data.decode("utf-8", errors="replace")
    if not text.strip():
        if carries_on:
            return None
        raise PromptRefused('-p needs a prompt, as in: noeta -p "list the files"')
    return check_message(text)


def _request(args: argparse.Namespace, context: Context, prompt: str | None) -> TaskRequest:
    settings = context.loaded.settings
    one_shot = args.prompt is not None
    model = checked_route(settings.model, context.workspace, settings, home=context.home)
    if args.max_cost is not None:
        _check_priced(model, context)
    return TaskRequest(
        prompt=prompt,
        cwd=str(context.workspace),
        model=model,
        max_cost_usd=args.max_cost,
        kind="one_shot" if one_shot else "interactive",
        # A wrong key or a spend cap must not cost the work: mend it and carry on.
        on_failure="wait",
        on_ask=args.on_ask or ("deny" if one_shot else "park"),
        permission_mode=settings.permission_mode,
    )


def _check_priced(model: str, context: Context) -> None:
    """A cap that nobody can keep is refused. Raises SettingsError."""
    routes = Routes(context.loaded.settings, home=context.home)
    if routes.cost_of(model, Usage(input_tokens=1, output_tokens=1)) is None:
        raise SettingsError(
            f"the price of {model} is not known, so --max-cost cannot be kept; give its prices"
            f' under [models."{model}"] in settings.toml, or leave the cap out'
        )


async def _carried_on(client: Client, args: argparse.Namespace, context: Context) -> TaskRow:
    """The task to carry on. Raises SettingsError."""
    if args.resume is not None:
        row = await client.task(await client.find(args.resume))
    else:
        cwd = str(context.workspace)
        rows = await client.tasks(
            statuses=("ready", "running", "waiting", "kept"), cwd=cwd, limit=1
        )
        if not rows:
            raise SettingsError(
                f"there is no unfinished task in {cwd}; `noeta tasks list --all` shows every task"
            )
        row = rows[0]
    if row.queue.startswith("local:") and row.queue != local_queue():
        raise SettingsError(
            f"task {row.id} lives on the files of host {row.queue[6:]}; resume it there"
        )
    if row.status == "running" and row.owner and not is_dead(row.owner):
        print(
            f"Task {row.id} is run by {describe(row.owner)}; what you send goes there.",
            file=sys.stderr,
        )
    return row
