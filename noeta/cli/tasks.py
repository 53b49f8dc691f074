"""`noeta tasks`: list, show, log. Lists read rows alone; a log is read only to be shown."""

import argparse
import json
import sys
import time
from collections.abc import AsyncIterator, Sequence
from typing import Any

import anyio
import msgspec

from noeta.cli.context import Context, context_of
from noeta.cli.describe import describe, one_line, type_of
from noeta.core.fold import UnreadableLog, fold
from noeta.core.spending import Spending
from noeta.core.state import TaskState
from noeta.core.task import TaskRow
from noeta.host.assemble import open_viewer
from noeta.host.client import Client, Entry
from noeta.host.process import describe as describe_worker

PAGE_EVENTS = 500


def tasks(args: argparse.Namespace) -> int:
    """`noeta tasks VERB`."""
    context = context_of(args)
    match args.verb:
        case "list":
            return anyio.run(_list, args, context)
        case "show":
            return anyio.run(_show, args, context)
        case _:
            return anyio.run(_log, args, context)


async def _list(args: argparse.Namespace, context: Context) -> int:
    async with open_viewer(context.home, context.loaded.settings) as client:
        rows = await client.tasks(
            statuses=None if args.all else ("ready", "running", "waiting", "kept"),
            cwd=None if args.all else str(context.workspace),
            limit=args.limit,
        )
    if args.json:
        print(json.dumps([_row_facts(row) for row in rows], indent=2))
    elif not rows:
        place = f"unfinished task in {context.workspace}; --all shows every task"
        print(f"There is no {'task' if args.all else place}.")
    else:
        _print_table(rows)
    return 0


def _print_table(rows: Sequence[TaskRow]) -> None:
    now = time.time()
    lines = [("ID", "STATUS", "USED", "EVENTS", "TITLE")]
    lines += [
        (row.id, _status(row), _age(now - row.updated_at), str(row.last_seq), one_line(row.title))
        for row in rows
    ]
    widths = [max(len(line[column]) for line in lines) for column in range(4)]
    for line in lines:
        cells = [cell.ljust(width) for cell, width in zip(line[:4], widths, strict=True)]
        print("  ".join([*cells, line[4]]).rstrip())


def _status(row: TaskRow) -> str:
    if row.status == "ended":
        return row.outcome or "ended"
    return "waiting" if row.status == "kept" else row.status


def _age(seconds: float) -> str:
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return f"{max(int(seconds), 0)} s"


async def _show(args: argparse.Namespace, context: Context) -> int:
    async with open_viewer(context.home, context.loaded.settings) as client:
        row = await client.task(await client.find(args.id))
        state = TaskState()
        spending = Spending()
        problem = ""
        async for entry in _entries(client, row.id, 0):
            if entry.event is None:
                problem = entry.problem
                break
            try:
                fold(state, entry.seq, entry.event)
                spending.add(entry.seq, entry.event)
            except UnreadableLog as error:
                problem = str(error)
                break
    facts = _row_facts(row) | _state_facts(state) | ({"problem": problem} if problem else {})
    if args.json:
        spent = {"turn_costs": spending.turns(), "call_costs": spending.calls}
        print(json.dumps(facts | spent, indent=2))
        return 0
    for name, value in facts.items():
        if value not in (None, "", [], {}):
            print(f"{name.replace('_', ' '):<18} {_shown(name, value)}")
    for line in spending.table():
        print(line)
    return 0


def _row_facts(row: TaskRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "title": row.title,
        "kind": row.kind,
        "status": _status(row),
        "outcome": row.outcome,
        "queue": row.queue,
        "cwd": row.cwd,
        "owner": row.owner,
        "epoch": row.owner_epoch,
        "events": row.last_seq,
        "inbox": row.inbox_count,
        "cancelled": row.cancelled,
        "created_at": row.created_at,
        "updated_at": row.updated_at,
        "ended_at": row.ended_at,
    }


def _state_facts(state: TaskState) -> dict[str, Any]:
    return {
        "model": state.model,
        "permission_mode": state.permission_mode,
        "turns": state.turns_count,
        "turn_open": state.turn_open,
        "last_turn": state.turn_outcome,
        "last_turn_detail": state.turn_detail,
        "model_calls": state.model_calls_count,
        "tool_calls": state.calls_count,
        "waits_for_answer": [c.call.call_id for c in state.calls.values() if c.awaits_answer],
        "usage": msgspec.to_builtins(state.usage),
        "cost_usd": None if state.unpriced_replies else state.cost_usd,
        "unpriced_calls": state.unpriced_replies,
        "max_cost_usd": state.max_cost_usd,
    }


def _shown(name: str, value: Any) -> str:
    if name.endswith("_at"):
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(value))
    if name.endswith("_usd"):
        return f"${value:.4f}"
    if name == "owner":
        return describe_worker(value)
    if isinstance(value, dict):
        return ", ".join(f"{v:,} {k.replace('_', ' ')}" for k, v in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return one_line(str(value))


async def _log(args: argparse.Namespace, context: Context) -> int:
    async with open_viewer(context.home, context.loaded.settings) as client:
        task_id = await client.find(args.id)
        left = args.limit
        async for entry in _entries(client, task_id, args.after):
            if left is not None:
                if left <= 0:
                    break
                left -= 1
            print(_json_line(entry) if args.json else _line(entry))
    sys.stdout.flush()
    return 0


async def _entries(client: Client, task_id: str, after: int) -> AsyncIterator[Entry]:
    while page := await client.log(task_id, after=after, limit=PAGE_EVENTS):
        for entry in page:
            yield entry
            after = entry.seq


def _line(entry: Entry) -> str:
    at = time.strftime("%H:%M:%S", time.localtime(entry.at))
    return f"{entry.seq:>5}  {at}  {entry.epoch:>2}  {type_of(entry):<17} {describe(entry)}"


def _json_line(entry: Entry) -> str:
    """The entry with its stored bytes as they are; a damaged one as text."""
    head = f'{{"seq":{entry.seq},"epoch":{entry.epoch},"at":{entry.at!r},'
    if entry.event is None:
        body = json.dumps(entry.body.decode("utf-8", errors="replace"))
        return f'{head}"problem":{json.dumps(entry.problem)},"body":{body}}}'
    return f'{head}"event":{entry.body.decode("utf-8")}}}'
