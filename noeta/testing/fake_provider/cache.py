"""A prompt cache like the providers': what a request would have read from it, and what it wrote.

Anthropic: an entry is written at each breakpoint, if the prefix is long enough; a request reads the
longest entry found at one of its breakpoints or at most 20 blocks before it, counting its own.
OpenAI: prefixes are cached by themselves, in steps of 128 tokens from 1,024. (Pages on prompt
caching of both, read in 2026.) Time comes from the clock that is given, so tests can let it pass.
"""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from noeta.testing.fake_provider.models import FakeModel
from noeta.testing.fake_provider.prompt import BYTES_PER_TOKEN, Piece, Ttl, tokens_of
from noeta.testing.fake_provider.turn import Counted

LOOKBACK_BLOCKS = 20
STEP_TOKENS = 128
FIRST_STEP_TOKENS = 1024
LIFE_SECONDS: dict[Ttl, float] = {"5m": 300.0, "1h": 3600.0}
OPENAI_LIFE_SECONDS = 600.0
"""Entries are said to live for 5 to 10 minutes."""


@dataclass(slots=True)
class CacheTotals:
    """What the requests of a conversation cost together."""

    requests_count: int = 0
    input_tokens: int = 0
    read_tokens: int = 0
    written_tokens: int = 0

    @property
    def hit_ratio(self) -> float:
        """The part of all input tokens that was read from cache."""
        return self.read_tokens / self.input_tokens if self.input_tokens else 0.0

    def add(self, counted: Counted) -> None:
        """One more request."""
        self.requests_count += 1
        self.input_tokens += counted.input_tokens
        self.read_tokens += counted.read_tokens
        self.written_tokens += counted.written_tokens


@dataclass(slots=True)
class PromptCache:
    """The entries there are, and the last prompt of every conversation."""

    clock: Callable[[], float]
    tokens_min: int | None = None
    """The shortest prefix that is cached; None: what the model says."""
    totals: dict[str, CacheTotals] = field(default_factory=dict)
    """By conversation."""
    _entries: dict[bytes, float] = field(default_factory=dict)
    """When each entry is forgotten."""
    _last: dict[str, tuple[list[Piece], int]] = field(default_factory=dict)
    """By conversation: the last prompt, and how many tokens of it the next should read."""

    def count(self, model: FakeModel, conversation: str, pieces: list[Piece]) -> Counted:
        """What this prompt reads and writes; it is in the cache from here on."""
        if model.owner == "anthropic":
            counted, kept = self._at_breakpoints(model, pieces)
        else:
            counted, kept = self._in_steps(model, pieces)
        self.totals.setdefault(conversation, CacheTotals()).add(counted)
        self._last[conversation] = (pieces, kept)
        return counted

    def missed(self, conversation: str, pieces: list[Piece], read_tokens: int) -> str | None:
        """Why less was read than the conversation's last request left there; None if it was not.

        To be asked before `count` replaces that request.
        """
        if conversation not in self._last:
            return None
        before, kept = self._last[conversation]
        if read_tokens >= kept:
            return None
        return f"{read_tokens} of {kept} cached tokens were read: {_first_change(before, pieces)}"

    def would_read(self, model: FakeModel, pieces: list[Piece]) -> int:
        """The tokens that this prompt would read now."""
        if model.owner == "anthropic":
            return self._read_at_breakpoints(model, pieces)[0]
        return self._read_in_steps(model, pieces)[0]

    def _at_breakpoints(self, model: FakeModel, pieces: list[Piece]) -> tuple[Counted, int]:
        read, marks, sizes = self._read_at_breakpoints(model, pieces)
        kept, written = read, {"5m": 0, "1h": 0}
        for index, piece in enumerate(pieces):
            if piece.breakpoint is None or sizes[index] < self._least(model):
                continue
            self._keep(marks[index], LIFE_SECONDS[piece.breakpoint])
            if sizes[index] > kept:
                written[piece.breakpoint] += sizes[index] - kept
                kept = sizes[index]
        counted = Counted(
            input_tokens=tokens_of(pieces),
            read_tokens=read,
            written_5m_tokens=written["5m"],
            written_1h_tokens=written["1h"],
        )
        return counted, kept

    def _read_at_breakpoints(
        self, model: FakeModel, pieces: list[Piece]
    ) -> tuple[int, list[bytes], list[int]]:
        marks, sizes = list(_marks(model.name, pieces)), list(_sizes(pieces))
        read = 0
        for index, piece in enumerate(pieces):
            if piece.breakpoint is None:
                continue
            for at in range(index, max(-1, index - LOOKBACK_BLOCKS), -1):
                if self._is_kept(marks[at]):
                    read = max(read, sizes[at])
                    break
        return read, marks, sizes

    def _in_steps(self, model: FakeModel, pieces: list[Piece]) -> tuple[Counted, int]:
        read, steps = self._read_in_steps(model, pieces)
        for step in steps:
            self._keep(step, OPENAI_LIFE_SECONDS)
        counted = Counted(input_tokens=tokens_of(pieces), read_tokens=read)
        whole = len(steps) * STEP_TOKENS
        return counted, whole if whole >= max(FIRST_STEP_TOKENS, self._least(model)) else 0

    def _read_in_steps(self, model: FakeModel, pieces: list[Piece]) -> tuple[int, list[bytes]]:
        data = b"".join(piece.data for piece in pieces)
        size = STEP_TOKENS * BYTES_PER_TOKEN
        digest = hashlib.sha256(model.name.encode())
        steps = []
        for at in range(0, len(data) - size + 1, size):
            digest.update(data[at : at + size])
            steps.append(digest.digest())
        known = 0
        while known < len(steps) and self._is_kept(steps[known]):
            known += 1
        read = known * STEP_TOKENS
        return read if read >= max(FIRST_STEP_TOKENS, self._least(model)) else 0, steps

    def _least(self, model: FakeModel) -> int:
        return model.cache_tokens_min if self.tokens_min is None else self.tokens_min

    def _keep(self, mark: bytes, seconds: float) -> None:
        until = self.clock() + seconds
        self._entries[mark] = max(until, self._entries.get(mark, until))

    def _is_kept(self, mark: bytes) -> bool:
        return self._entries.get(mark, -1.0) > self.clock()


def _marks(model: str, pieces: list[Piece]) -> Iterator[bytes]:
    """For each piece, a name of the prompt up to its end."""
    digest = hashlib.sha256(model.encode())
    for piece in pieces:
        digest.update(piece.salt)
        digest.update(piece.data)
        yield digest.digest()


def _sizes(pieces: list[Piece]) -> Iterator[int]:
    """For each piece, the tokens of the prompt up to its end."""
    total = 0
    for piece in pieces:
        total += len(piece.data)
        yield total // BYTES_PER_TOKEN


def _first_change(before: list[Piece], after: list[Piece]) -> str:
    for old, new in zip(before, after, strict=False):
        if old.data == new.data and old.salt == new.salt:
            continue
        at = next(
            (i for i, (a, b) in enumerate(zip(old.data, new.data, strict=False)) if a != b),
            min(len(old.data), len(new.data)),
        )
        if old.data == new.data:
            return f"{new.path}: the settings for thinking or tool_choice changed"
        start = max(0, at - 30)
        was, is_now = (
            data[start : at + 30].decode(errors="replace") for data in (old.data, new.data)
        )
        return f"{new.path} changed at byte {at}, from {was!r} to {is_now!r}"
    if len(after) < len(before):
        return f"the prompt ends before {before[len(after)].path}"
    return "nothing before it changed; a breakpoint is missing, or too far from the last one"
