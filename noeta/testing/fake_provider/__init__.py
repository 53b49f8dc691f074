"""A model provider on loopback that is as strict as the real ones, and as unreliable when told.

It speaks Anthropic's Messages and OpenAI's Chat Completions and Responses, over one model of turns
(`turn`). It refuses what they refuse (`check` and the `*_check` modules), tells what they would
have read from their prompt caches (`cache`), and misbehaves on demand (`misbehaviour`). Nothing in
it is shared with noeta's own adapters, so that neither can hide the other's mistakes; the official
SDKs are the judges of both (tests/testing). docs/fake-provider.md shows its use.

    async with fake_provider(turns=[say("Hello.")]) as fake:
        client = AsyncAnthropic(base_url=fake.url, api_key="any", max_retries=0)
"""

from noeta.testing.fake_provider.asked import Asked
from noeta.testing.fake_provider.cache import CacheTotals
from noeta.testing.fake_provider.choose import echo
from noeta.testing.fake_provider.misbehaviour import Misbehaviour, parse_misbehaviour
from noeta.testing.fake_provider.models import KNOWN_MODELS, FakeModel
from noeta.testing.fake_provider.provider import FakeProvider, PrefixChanged, fake_provider
from noeta.testing.fake_provider.refused import Dialect, Refused
from noeta.testing.fake_provider.turn import (
    Call,
    Counted,
    Redacted,
    Refusal,
    Text,
    Thinking,
    Turn,
    say,
)

__all__ = [
    "KNOWN_MODELS",
    "Asked",
    "CacheTotals",
    "Call",
    "Counted",
    "Dialect",
    "FakeModel",
    "FakeProvider",
    "Misbehaviour",
    "PrefixChanged",
    "Redacted",
    "Refusal",
    "Refused",
    "Text",
    "Thinking",
    "Turn",
    "echo",
    "fake_provider",
    "parse_misbehaviour",
    "say",
]
