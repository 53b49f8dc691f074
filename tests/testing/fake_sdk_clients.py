"""The official SDKs against a fake: what they decode, in the words of a turn.

They do not retry, and load no certificates.
"""

from typing import Any

import httpx2
import msgspec
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI

from noeta.testing.fake_provider import Call, Dialect, FakeProvider, Refusal, Text
from noeta.testing.fake_provider.signing import opened, signature_holds

CLAUDE = "claude-opus-4-6"
GPT = "gpt-5"
ASKED = "Hello"

Said = list[tuple[str, object]]
"""(kind, what was said), block by block; of a call, its name and input."""


def anthropic_client(fake: FakeProvider) -> AsyncAnthropic:
    """The official client of Messages."""
    plain = httpx2.AsyncClient(verify=False, timeout=5)
    return AsyncAnthropic(base_url=fake.url, api_key="key", max_retries=0, http_client=plain)


def openai_client(fake: FakeProvider) -> AsyncOpenAI:
    """The official client of Chat Completions and Responses."""
    plain = httpx2.AsyncClient(verify=False, timeout=5)
    return AsyncOpenAI(base_url=fake.openai_url, api_key="key", max_retries=0, http_client=plain)


async def decoded(fake: FakeProvider, dialect: Dialect) -> Said:
    """What the SDK makes of the streamed answer to one request."""
    match dialect:
        case "anthropic":
            return of_message(await message(fake))
        case "chat":
            return of_completion(await completion(fake))
        case "responses":
            return of_response(await response(fake))


async def message(fake: FakeProvider, **options: Any) -> Any:
    """Messages, streamed; thinking is on."""
    asked: dict[str, Any] = {
        "model": CLAUDE,
        "max_tokens": 4000,
        "messages": [{"role": "user", "content": ASKED}],
        "thinking": {"type": "adaptive"},
        **options,
    }
    async with anthropic_client(fake) as client, client.messages.stream(**asked) as stream:
        return await stream.get_final_message()


async def completion(fake: FakeProvider, **options: Any) -> Any:
    """Chat Completions, streamed, with usage."""
    asked: dict[str, Any] = {
        "model": GPT,
        "messages": [{"role": "user", "content": ASKED}],
        "stream_options": {"include_usage": True},
        **options,
    }
    async with openai_client(fake) as client, client.chat.completions.stream(**asked) as stream:
        return await stream.get_final_completion()


async def response(fake: FakeProvider, **options: Any) -> Any:
    """Responses, streamed; reasoning comes sealed."""
    asked: dict[str, Any] = {
        "model": GPT,
        "input": ASKED,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        **options,
    }
    async with openai_client(fake) as client, client.responses.stream(**asked) as stream:
        return await stream.get_final_response()


def of_message(message: Any) -> Said:
    """What a message says; its thinking is signed."""
    said: Said = []
    for block in message.content:
        match block.type:
            case "text":
                said.append(("Text", block.text))
            case "thinking":
                holds = signature_holds(block.signature, model=CLAUDE, shown=block.thinking)
                said.append(("Thinking" if holds else "forged", block.thinking))
            case "redacted_thinking":
                inside = opened(block.data, model=CLAUDE, kind="redacted")
                said.append(("Redacted", inside and inside[1]))
            case "tool_use":
                said.append(("Call", (block.name, block.input)))
            case other:
                raise AssertionError(other)
    return said


def of_completion(completion: Any) -> Said:
    """What a completion says: its text is one, and comes before its calls."""
    [choice] = completion.choices
    said: Said = []
    if choice.message.content:
        said.append(("Text", choice.message.content))
    if choice.message.refusal:
        said.append(("Refusal", choice.message.refusal))
    for call in choice.message.tool_calls or ():
        arguments = msgspec.json.decode(call.function.arguments)
        said.append(("Call", (call.function.name, arguments)))
    return said


def of_response(response: Any) -> Said:
    """What a response says."""
    said: Said = []
    for item in response.output:
        match item.type:
            case "message":
                [part] = item.content
                refused = part.type == "refusal"
                said.append(("Refusal", part.refusal) if refused else ("Text", part.text))
            case "reasoning":
                inside = opened(item.encrypted_content, model=GPT, kind="reasoning")
                shown = "".join(part.text for part in item.summary)
                said.append(("Thinking", shown) if shown else ("Redacted", inside and inside[1]))
            case "function_call":
                said.append(("Call", (item.name, msgspec.json.decode(item.arguments))))
            case other:
                raise AssertionError(other)
    return said


def told(blocks: tuple[Any, ...], dialect: Dialect) -> Said:
    """What a turn says, as far as the dialect has words for it."""
    said: Said = []
    for block in blocks:
        if isinstance(block, Call):
            said.append(("Call", (block.tool, dict(block.input))))
        else:
            said.append((type(block).__name__, getattr(block, "hidden", None) or block.text))
    if dialect == "anthropic":
        return [each for each in said if each[0] != Refusal.__name__]
    if dialect == "responses":
        return said
    joined = "".join(str(what) for kind, what in said if kind == Text.__name__)
    refused = "".join(str(what) for kind, what in said if kind == Refusal.__name__)
    calls = [each for each in said if each[0] == Call.__name__]
    texts: Said = [("Text", joined)] if joined else []
    return [*texts, *([("Refusal", refused)] if refused else []), *calls]
