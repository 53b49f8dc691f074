"""What the fake says to a request that asks no model: the lists of models, and what is not here."""

from collections.abc import Collection

from noeta.testing.fake_provider import answers
from noeta.testing.fake_provider.asked import asked_from
from noeta.testing.fake_provider.check import Rules, check_headers
from noeta.testing.fake_provider.delivery import Answer
from noeta.testing.fake_provider.http_wire import HttpRequest
from noeta.testing.fake_provider.refused import Dialect, Refused

LIST = "/v1/models"


def elsewhere(request: HttpRequest, path: str, served: Collection[str], rules: Rules) -> Answer:
    """The answer, in the style of the provider whose version header is there, or is not.

    served are the paths that ask a model.
    """
    style: Dialect = "anthropic" if "anthropic-version" in request.headers else "chat"
    try:
        if request.method == "GET" and f"{path}/".startswith(f"{LIST}/"):
            check_headers(asked_from(style, path, request.headers, b""), request, rules)
            return _models(path.removeprefix(LIST).strip("/"), style, rules)
        if path in served:
            raise Refused(405, f"Method {request.method} is not allowed here", None)
        raise Refused(404, f"Unknown request URL: {request.method} {path}.", None, "unknown_url")
    except Refused as refused:
        return answers.refusal(refused, style, "req_none")


def _models(name: str, style: Dialect, rules: Rules) -> Answer:
    owner = "anthropic" if style == "anthropic" else "openai"
    models = [model for model in rules.models.values() if model.owner == owner]
    if not name:
        return answers.model_list(models, style)
    for model in models:
        if model.name == name:
            return answers.ok(answers.model_entry(model, style), style)
    raise Refused(404, f"The model '{name}' does not exist", None, "model_not_found")
