"""The `noeta` command: its arguments, and what its errors look like.

Handlers are imported when they are used, so that `--version` and `--help` load nothing heavy.
Exit codes: 0 done, 1 failed, 2 usage, 130 interrupted, 143 ended by a signal.
"""

import argparse
import io
import os
import sys
from collections.abc import Sequence

from noeta import __version__
from noeta.core.errors import NoetaError

USAGE_ERRORS = frozenset(
    {"AmbiguousId", "BadId", "NoSuchTask", "PromptRefused", "ScriptError", "SettingsError"}
)
"""Errors that a person mends by giving something else: exit code 2."""

EXAMPLES = """\
examples:
  noeta --model scripted:demo.yaml            chat in this directory
  noeta -p "tidy up" --model scripted:s.yaml  one prompt; the answer goes to stdout
  noeta --continue                            carry on the last task of this directory
  noeta --resume k3v9                         carry on a task, also after kill -9
  noeta tasks list                            what there is
  noeta demo                                  see a task survive two kills

exit codes: 0 done, 1 failed, 2 usage, 130 interrupted, 143 ended by a signal
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and give its exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A title or a path may hold what this terminal's encoding does not.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        code = _parse_and_run(argv)
        if sys.stdout is not None:
            # Here and not at the interpreter's end, which would show a traceback.
            sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever read our output has gone; nothing more can be said there.
        _drop_stdout()
        return 1
    except OSError as error:
        _drop_stdout()
        where = f"{error.filename}: " if error.filename else "input or output failed: "
        print(f"noeta: {where}{error.strerror or error}", file=sys.stderr)
        return 1
    except NoetaError as error:
        print(f"noeta: {error}", file=sys.stderr)
        return 2 if type(error).__name__ in USAGE_ERRORS else 1


def _parse_and_run(argv: Sequence[str] | None) -> int:
    try:
        args = build_parser().parse_args(argv)
    except SystemExit as exit:
        # What argparse printed, help or a mistake, is still to be flushed.
        return exit.code if isinstance(exit.code, int) else 0
    return _dispatch(args)


def _drop_stdout() -> None:
    """Let the interpreter's last flush of what could not be written go nowhere."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _dispatch(args: argparse.Namespace) -> int:
    match args.command:
        case "tasks":
            from noeta.cli.tasks import tasks

            return tasks(args)
        case "doctor":
            from noeta.cli.doctor import doctor

            return doctor(args)
        case "trust":
            from noeta.cli.trust import trust

            return trust(args)
        case "demo":
            from noeta.cli.demo import demo

            return demo(args)
        case "dev":
            from noeta.cli.dev import dev

            return dev(args)
        case _:
            from noeta.cli.run import run

            return run(args)


def build_parser() -> argparse.ArgumentParser:
    """The whole command line."""
    parser = argparse.ArgumentParser(
        prog="noeta",
        description="Run LLM agents that cannot lose their work. Without a command: chat.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"noeta {__version__}")
    _add_run_flags(parser)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    _add_tasks(commands)
    _add_simple(
        commands,
        "doctor",
        "check this machine, the settings and the store",
        "examples:\n  noeta doctor\n  noeta doctor --json\n",
    ).add_argument("--json", action="store_true", help="for programs")
    trust = _add_simple(
        commands,
        "trust",
        "let a workspace bring settings of its own",
        "examples:\n  noeta trust            this directory\n  noeta trust --remove ~/src/x\n",
    )
    trust.add_argument("directory", nargs="?", help="default: the current directory")
    trust.add_argument("--remove", action="store_true", help="trust it no more")
    demo = _add_simple(
        commands,
        "demo",
        "see a task survive two kills, offline",
        "examples:\n  noeta demo\n  noeta demo --seed 7\n",
    )
    demo.add_argument("--seed", type=int, default=None, help="choose where the kills fall")
    _add_dev(commands)
    demo.add_argument("--keep", action="store_true", help="leave the scratch directory")
    return parser


def _add_run_flags(parser: argparse.ArgumentParser) -> None:
    flags = parser.add_argument_group("running a task")
    flags.add_argument(
        "-p",
        "--print",
        dest="prompt",
        nargs="?",
        const="",
        metavar="PROMPT",
        help="run one prompt (from stdin when none is given) and print the answer",
    )
    flags.add_argument("--model", metavar="ROUTE", help="the model, such as scripted:FILE")
    flags.add_argument("--cwd", metavar="DIR", help="the task's directory; default: this one")
    flags.add_argument("--resume", metavar="ID", help="carry on a task; its first letters do")
    flags.add_argument(
        "--continue",
        dest="continue_",
        action="store_true",
        help="carry on the last unfinished task of this directory",
    )
    flags.add_argument(
        "--permission-mode",
        metavar="MODE",
        help="what runs without asking: default, acceptEdits or bypassPermissions",
    )
    flags.add_argument(
        "--on-ask",
        choices=("park", "deny"),
        help="what a call that needs your leave does; default: park in a chat, deny with -p",
    )
    flags.add_argument(
        "--max-cost", type=_dollars, metavar="USD", help="stop before the task costs more"
    )
    flags.add_argument(
        "--output-format", choices=("text", "json"), help="what -p prints; default: text"
    )


def _add_tasks(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]",
) -> None:
    parser = commands.add_parser(
        "tasks",
        help="list and look at tasks",
        description="List and look at tasks.",
        epilog="examples:\n  noeta tasks list\n  noeta tasks log k3v9 --json\n",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    listing = verbs.add_parser("list", help="the tasks, the last used first")
    listing.add_argument("--all", action="store_true", help="of every directory, ended ones too")
    listing.add_argument("--limit", type=_count, default=30, help="at most so many; default: 30")
    listing.add_argument("--json", action="store_true", help="for programs: one array")
    show = verbs.add_parser("show", help="one task: its state and its usage")
    show.add_argument("id", help="the task; its first letters do")
    show.add_argument("--json", action="store_true", help="for programs: one object")
    log = verbs.add_parser("log", help="one task's log, an entry a line")
    log.add_argument("id", help="the task; its first letters do")
    log.add_argument("--after", type=int, default=0, metavar="SEQ", help="entries after this one")
    log.add_argument("--limit", type=_count, default=None, help="at most so many; default: all")
    log.add_argument("--json", action="store_true", help="for programs: an object a line")


def _add_dev(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "dev",
        help="for those who build on noeta: a fake model provider",
        description="For those who build on noeta.",
        epilog="examples:\n  noeta dev fake-provider --port 8099\n",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    fake = verbs.add_parser(
        "fake-provider",
        help="serve a model provider that is as strict as the real ones",
        description="Serve a model provider that is as strict as the real ones, until Ctrl-C.",
    )
    fake.add_argument("--port", type=_count, default=0, help="the port; default: any free one")
    fake.add_argument("--script", metavar="FILE", help="turns to play; default: it echoes")
    fake.add_argument(
        "--dialects", metavar="NAMES", help="anthropic, chat, responses, with commas; default: all"
    )
    fake.add_argument("--key", help="the only key it takes; default: any")
    fake.add_argument("--context-tokens", type=_count, metavar="N", help="what fits into a request")


def _dollars(text: str) -> float:
    """An amount of US dollars above nothing."""
    try:
        amount = float(text)
    except ValueError:
        amount = 0.0
    if not 0 < amount < 1_000_000:
        raise argparse.ArgumentTypeError(f"{text!r} is not an amount, such as 2.50")
    return amount


def _count(text: str) -> int:
    """A number of things to show."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a count, such as 30")
    return int(text)


def _add_simple(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]",
    name: str,
    summary: str,
    epilog: str,
) -> argparse.ArgumentParser:
    return commands.add_parser(
        name,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.",
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
