"""`noeta dev fake-provider`: the fake model provider as a command, for trials and for CI."""

import argparse
import sys
from pathlib import Path
from typing import get_args

import anyio

from noeta.host.settings import SettingsError
from noeta.testing.fake_provider.asked import Asked
from noeta.testing.fake_provider.provider import DIALECTS, MISBEHAVE_HEADER, FakeProvider
from noeta.testing.fake_provider.refused import Dialect
from noeta.testing.fake_provider.script import read_script

BANNER = """\
The fake provider takes requests until Ctrl-C. {plays}
{dialects}
{key} To send noeta, the SDKs and what is built on them here:
  export ANTHROPIC_BASE_URL={url} ANTHROPIC_API_KEY={given}
  export OPENAI_BASE_URL={url}/v1 OPENAI_API_KEY={given}
  noeta -p hello --model anthropic/claude-opus-5-5
For a bad day, send a header such as
  {header}: status=529; retry_after=2
"""
DIALECT_LINES: dict[Dialect, str] = {
    "anthropic": "  Anthropic Messages       {url}/v1/messages",
    "chat": "  OpenAI Chat Completions  {url}/v1/chat/completions",
    "responses": "  OpenAI Responses         {url}/v1/responses",
}


def dev(args: argparse.Namespace) -> int:
    """The `noeta dev` commands; there is one."""
    return fake_provider(args)


def fake_provider(args: argparse.Namespace) -> int:
    """Serve until interrupted. Raises ScriptError, SettingsError."""
    dialects = parse_dialects(args.dialects)
    turns = None if args.script is None else read_script(Path(args.script))
    fake = FakeProvider(
        turns,
        dialects=dialects,
        key=args.key,
        context_tokens=args.context_tokens,
        port=args.port,
    )
    try:
        return anyio.run(_serve, fake, dialects, args)
    except KeyboardInterrupt:
        # Ctrl-C is how it is meant to end.
        return 0
    except OSError as error:
        raise SettingsError(
            f"port {args.port} cannot be had ({error.strerror}); give another, or 0 for any"
        ) from error


def parse_dialects(text: str | None) -> tuple[Dialect, ...]:
    """The dialects of `--dialects`, parted by commas. Raises SettingsError."""
    if text is None:
        return DIALECTS
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in get_args(Dialect):
            known = ", ".join(get_args(Dialect))
            raise SettingsError(f"--dialects: {name!r} is none; there are {known}")
    return tuple(dialect for dialect in DIALECTS if dialect in names)


def banner(fake: FakeProvider, dialects: tuple[Dialect, ...], args: argparse.Namespace) -> str:
    """What is shown at the start."""
    plays = f"It plays {args.script}." if args.script else "It says what it hears."
    return BANNER.format(
        plays=plays,
        dialects="\n".join(DIALECT_LINES[each].format(url=fake.url) for each in dialects),
        key="Any key will do." if args.key is None else "The key is the one of --key.",
        given="fake" if args.key is None else "...",
        url=fake.url,
        header=MISBEHAVE_HEADER,
    )


async def _serve(
    fake: FakeProvider, dialects: tuple[Dialect, ...], args: argparse.Namespace
) -> int:
    def answered(asked: Asked) -> None:
        _report(asked)
        # Nobody looks at them here, and a day's requests are many.
        fake.requests.clear()

    fake.on_answered = answered
    async with fake:
        print(banner(fake, dialects, args), flush=True)
        await anyio.sleep_forever()
    return 0


def _report(asked: Asked) -> None:
    """One line for one request."""
    said = f"{asked.status} {asked.dialect} {asked.model or '(no model)'}"
    if asked.refused is not None:
        said += f": {asked.refused.message}"
    elif asked.counted is not None:
        counted = asked.counted
        said += f", {counted.input_tokens} tokens in ({counted.read_tokens} from cache)"
        said += f", {counted.output_tokens} out"
    if asked.outcome != "sent":
        said += f" [{asked.outcome}]"
    print(said, file=sys.stderr, flush=True)
