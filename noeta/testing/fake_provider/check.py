"""Whether a request is taken: its headers, its body as JSON, its model, its dialect's rules."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from noeta.testing.fake_provider.anthropic_check import VERSIONS, check_messages
from noeta.testing.fake_provider.asked import Asked
from noeta.testing.fake_provider.chat_check import check_chat
from noeta.testing.fake_provider.http_wire import REQUEST_BYTES_MAX, HttpRequest
from noeta.testing.fake_provider.models import FakeModel
from noeta.testing.fake_provider.openai_check import missing
from noeta.testing.fake_provider.prompt import Piece, pieces_of, tokens_of
from noeta.testing.fake_provider.refused import Refused, invalid
from noeta.testing.fake_provider.responses_check import check_responses

OPENAI_KEYS_PAGE = "https://platform.openai.com/account/api-keys"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What the checks need to know of the fake they stand in."""

    models: Mapping[str, FakeModel]
    key: str | None
    """The only key that is right; None: any."""
    context_tokens: int | None
    """The window of every model; None: each has its own."""
    compatible: bool
    """Chat is a server that calls itself compatible, not OpenAI's own."""


def check(asked: Asked, request: HttpRequest, rules: Rules, *, goes_on: bool) -> list[Piece]:
    """The prompt of a request that is fine. Raises Refused."""
    if request.too_large:
        limit = f"{REQUEST_BYTES_MAX:,}"
        raise Refused(413, f"Request exceeds the maximum size of {limit} bytes", None)
    check_headers(asked, request, rules)
    model = check_body(asked, rules)
    match asked.dialect:
        case "anthropic":
            beta = bool(request.headers.get("anthropic-beta"))
            version = request.headers["anthropic-version"]
            check_messages(asked.body, model, version=version, beta=beta, goes_on=goes_on)
        case "chat":
            check_chat(asked.body, model, compatible=rules.compatible)
        case "responses":
            check_responses(asked.body, model)
    pieces = pieces_of(asked.dialect, asked.body)
    _check_fits(asked, model, tokens_of(pieces), rules)
    return pieces


def check_headers(asked: Asked, request: HttpRequest, rules: Rules) -> None:
    """Refused for a key, a version or a content type."""
    _key(asked, request.headers, rules)
    if asked.dialect == "anthropic":
        version = request.headers.get("anthropic-version")
        if not version:
            raise invalid("anthropic-version: header is required")
        if version not in VERSIONS:
            raise invalid(f'anthropic-version: "{version}" is not a valid version')
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if request.method == "POST" and kind != "application/json":
        if asked.dialect == "anthropic":
            raise invalid("content-type: expected application/json")
        raise Refused(
            415,
            f"Unsupported content type: '{kind}'. This API method only accepts "
            "'application/json' requests, but you specified the header 'Content-Type: "
            f"{kind}'. Please try again with a supported content type.",
            "invalid_request_error",
            "unsupported_content_type",
        )


def check_body(asked: Asked, rules: Rules) -> FakeModel:
    """The model that is asked for. Refused when the body is no JSON object that names one."""
    if not asked.body:
        raise _no_object(asked)
    if "model" not in asked.body:
        if asked.dialect == "anthropic":
            raise invalid("model: Field required")
        if asked.dialect == "chat":
            raise invalid("you must provide a model parameter")
        raise missing("model")
    owner = "anthropic" if asked.dialect == "anthropic" else "openai"
    model = rules.models.get(asked.model)
    if model is not None and model.owner == owner:
        return model
    if asked.dialect == "anthropic":
        raise Refused(404, f"model: {asked.model}", None)
    raise Refused(
        404,
        f"The model `{asked.model}` does not exist or you do not have access to it.",
        "invalid_request_error",
        "model_not_found",
    )


def _key(asked: Asked, headers: Mapping[str, str], rules: Rules) -> None:
    scheme, _, bearer = headers.get("authorization", "").partition(" ")
    given = bearer.strip() if scheme.lower() == "bearer" else ""
    if asked.dialect == "anthropic":
        given = headers.get("x-api-key", "") or given
        if not given:
            raise Refused(401, "x-api-key header is required", None)
        if rules.key not in (None, given):
            raise Refused(401, "invalid x-api-key", None)
        return
    if not given:
        raise Refused(
            401,
            "You didn't provide an API key. You need to provide your API key in an Authorization "
            "header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY). You can obtain an "
            f"API key from {OPENAI_KEYS_PAGE}.",
            "invalid_request_error",
        )
    if rules.key not in (None, given):
        hidden = f"{given[:3]}{'*' * 8}{given[-4:]}" if len(given) > 11 else "*" * len(given)
        raise Refused(
            401,
            f"Incorrect API key provided: {hidden}. You can find your API key at "
            f"{OPENAI_KEYS_PAGE}.",
            "invalid_request_error",
            "invalid_api_key",
        )


def _no_object(asked: Asked) -> Refused:
    try:
        value = json.loads(asked.raw)
    except ValueError as error:
        if asked.dialect == "anthropic":
            return invalid(f"The request body is not valid JSON: {error}")
        return invalid(
            "We could not parse the JSON body of your request. (HINT: This likely means you "
            "aren't using your HTTP library correctly. The OpenAI API expects a JSON payload, but "
            "what was sent was not valid JSON.)"
        )
    if asked.dialect == "anthropic":
        return invalid("model: Field required" if value == {} else "Input should be an object")
    return invalid("you must provide a model parameter")


def _check_fits(asked: Asked, model: FakeModel, tokens: int, rules: Rules) -> None:
    most = model.context_tokens if rules.context_tokens is None else rules.context_tokens
    if tokens <= most:
        return
    if asked.dialect == "anthropic":
        raise invalid(f"prompt is too long: {tokens} tokens > {most} maximum")
    if asked.dialect == "responses":
        raise invalid(
            "Your input exceeds the context window of this model. Please adjust your input and "
            "try again.",
            code="context_length_exceeded",
            param="input",
        )
    raise invalid(
        f"This model's maximum context length is {most} tokens. However, your messages resulted "
        f"in {tokens} tokens. Please reduce the length of the messages.",
        code="context_length_exceeded",
        param="messages",
    )
