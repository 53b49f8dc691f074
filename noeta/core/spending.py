"""What a task's model calls used and cost: per call, per turn and in all."""

from dataclasses import dataclass, field
from typing import Any

from noeta.core import events as e
from noeta.core.message import Usage


@dataclass(slots=True)
class Spending:
    """Filled event by event, in the log's order."""

    calls: list[dict[str, Any]] = field(default_factory=list)
    _turn: int = 1
    _model: str = ""

    def add(self, seq: int, event: e.Event) -> None:
        """Note what an event says of usage and cost."""
        match event:
            case e.ModelCalled(model=model):
                self._model = model
            case e.ModelReplied(usage=usage, cost_usd=cost_usd):
                facts = {"turn": self._turn, "seq": seq, "model": self._model}
                self.calls.append(facts | _tokens(usage) | {"cost_usd": cost_usd})
            case e.TurnEnded():
                self._turn += 1

    def turns(self) -> list[dict[str, Any]]:
        """The sums of each turn; a cost is None when a call in it has none."""
        sums: dict[int, dict[str, Any]] = {}
        for call in self.calls:
            sum_ = sums.setdefault(
                call["turn"], {"turn": call["turn"], "calls": 0, "cost_usd": 0.0}
            )
            sum_["calls"] += 1
            for name in _TOKENS:
                sum_[name] = sum_.get(name, 0) + call[name]
            if sum_["cost_usd"] is not None:
                cost = call["cost_usd"]
                sum_["cost_usd"] = None if cost is None else sum_["cost_usd"] + cost
        return list(sums.values())

    def table(self, turns_max: int = 10) -> list[str]:
        """The last turns as lines for people; empty when nothing was called."""
        turns = self.turns()[-turns_max:]
        if not turns:
            return []
        lines = [f"{'turn':>5} {'calls':>6} {'in':>10} {'from cache':>11} {'out':>9}  cost"]
        for turn in turns:
            cost = "unknown price" if turn["cost_usd"] is None else f"${turn['cost_usd']:.4f}"
            lines.append(
                f"{turn['turn']:>5} {turn['calls']:>6} {turn['input_tokens']:>10,}"
                f" {_cached(turn):>11} {turn['output_tokens']:>9,}  {cost}"
            )
        return lines


_TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")


def _tokens(usage: Usage) -> dict[str, Any]:
    return {name: getattr(usage, name) for name in _TOKENS}


def _cached(turn: dict[str, Any]) -> str:
    """How much of what went in was read from the provider's cache."""
    read = turn["cache_read_tokens"]
    whole = turn["input_tokens"] + read + turn["cache_write_tokens"]
    return f"{read / whole:.0%}" if whole else "-"
