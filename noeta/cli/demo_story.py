"""The demo's story: three orders to ship, by scripts that can be caught half-way.

What is shipped is a line in a ledger, written in two halves, so that a kill can fall before, in
or after the effect. The model is a script that looks at the ledger when a call's outcome is
unknown and then does what it sees fit: go on, ship again, or mend a half-written line first.
"""

import stat
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Literal

Point = Literal["before", "in", "after"]
POINTS: tuple[Point, ...] = ("before", "in", "after")
ORDERS = ("A-100", "B-200", "C-300")
PROMPT = "Ship the three open orders, each exactly once, and tell me when it is done."
MODEL_PAUSE_SECONDS = 0.25
KILLED_PAUSE_SECONDS = 1.5
"""The model call that will be killed takes this long; the kill comes well before its end."""

SHIP = """\
#!/bin/bash
# Ship an order: one line in the ledger, written in two halves.
at() {
  echo "$1 $2 $$" > .at
  while [ -e ".hold-$1-$2" ]; do sleep 0.02; done
}
at "$1" before
printf '%s ' "$1" >> ledger
at "$1" in
printf 'shipped\\n' >> ledger
at "$1" after
echo "shipped $1"
"""
LOOK = """\
#!/bin/bash
# How often an order stands in the ledger, and whether a line is only half there.
if grep -q "^$1 $" ledger 2>/dev/null; then echo "$1: half a line"; exit; fi
echo "$1: $(grep -c "^$1 shipped$" ledger 2>/dev/null) in the ledger"
"""
MEND = """\
#!/bin/bash
# Take a half-written line out of the ledger.
grep -v "^$1 $" ledger > .ledger
mv .ledger ledger
echo "mended"
"""


@dataclass(frozen=True, slots=True)
class Plan:
    """Where the two kills fall."""

    order: str
    point: Point
    """In the call that ships this order: before, in or after its effect."""
    model_call: Literal[1, 2]
    """In the first or the second model call after that."""


def plan_of(seed: int) -> Plan:
    """The plan of a seed."""
    random = Random(seed)
    model_call: Literal[1, 2] = random.choice((1, 2))
    return Plan(random.choice(ORDERS), random.choice(POINTS), model_call)


def write_story(scratch: Path, plan: Plan) -> Path:
    """Put the story's files in a directory, and give the model's script."""
    for name, text in (("ship.sh", SHIP), ("look.sh", LOOK), ("mend.sh", MEND)):
        path = scratch / name
        path.write_text(text, encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    hold_of(scratch, plan).touch()
    # Imported here: only a demo needs it, and --help must stay light.
    import yaml

    script = scratch / "model.yaml"
    script.write_text(yaml.safe_dump({"steps": _steps(plan)}, sort_keys=False), encoding="utf-8")
    return script


def hold_of(scratch: Path, plan: Plan) -> Path:
    """The file that holds the shipping script where the plan wants it."""
    return scratch / f".hold-{plan.order}-{plan.point}"


def shipped(scratch: Path) -> list[str]:
    """The ledger's lines."""
    try:
        return (scratch / "ledger").read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []


def _steps(plan: Plan) -> list[dict[str, Any]]:
    slow = _slow_label(plan)
    orders = "".join(f"{order}\n" for order in ORDERS)
    steps = [_reply("list", "I write the list down first.", ("Write", "orders.txt", orders), slow)]
    for order, following in zip(ORDERS, [*ORDERS[1:], None], strict=True):
        after = f"ship {following}" if following else "done"
        steps += _order_steps(order, after, slow)
    steps.append(
        {"label": "done", "text": "All three orders are shipped.", "pause": _pause("done", slow)}
    )
    return steps


def _order_steps(order: str, after: str, slow: str) -> list[dict[str, Any]]:
    ship = ("Bash", f"./ship.sh {order}")
    return [
        _reply(f"ship {order}", f"Now order {order}.", ship, slow),
        {
            "label": f"shipped {order}",
            "branch": [
                {"when": {"result": f"shipped {order}"}, "goto": after},
                {"otherwise": True, "goto": f"look {order}"},
            ],
        },
        _reply(
            f"look {order}",
            f"Nobody knows how far that came. I look for {order} in the ledger before anything"
            " else.",
            ("Bash", f"./look.sh {order}"),
            slow,
        ),
        {
            "branch": [
                {"when": {"result": f"{order}: 1 in the ledger"}, "goto": after},
                {"when": {"result": f"{order}: half a line"}, "goto": f"mend {order}"},
                {"otherwise": True, "goto": f"again {order}"},
            ]
        },
        _reply(
            f"mend {order}",
            "Half a line: I take it out, then ship the order again.",
            ("Bash", f"./mend.sh {order}"),
            slow,
        ),
        _reply(f"again {order}", f"{order} is not there, so I ship it again.", ship, slow)
        | {"goto": f"shipped {order}"},
    ]


def _reply(label: str, text: str, call: tuple[str, ...], slow: str) -> dict[str, Any]:
    tool, first, *rest = call
    inputs = {"command": first} if tool == "Bash" else {"file_path": first, "content": rest[0]}
    return {
        "label": label,
        "text": text,
        "calls": [{"tool": tool, "input": inputs}],
        "pause": _pause(label, slow),
    }


def _pause(label: str, slow: str) -> float:
    return KILLED_PAUSE_SECONDS if label == slow else MODEL_PAUSE_SECONDS


def _slow_label(plan: Plan) -> str:
    """The step whose model call is killed: what the script says there after the first kill."""
    order = plan.order
    if plan.model_call == 1:
        return f"look {order}"
    if plan.point == "before":
        return f"again {order}"
    if plan.point == "in":
        return f"mend {order}"
    position = ORDERS.index(order)
    return f"ship {ORDERS[position + 1]}" if position + 1 < len(ORDERS) else "done"
