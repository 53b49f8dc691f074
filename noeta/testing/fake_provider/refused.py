"""A refusal, with the status, the type and the body that each dialect gives it.

Types and statuses: Anthropic's page on errors and OpenAI's on error codes, read in 2026. Texts
follow what the providers say, since clients tell cases apart by them; where the real text is not
public, the sentence is ours and only its type is meant.
"""

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

Dialect: TypeAlias = Literal["anthropic", "chat", "responses"]

ANTHROPIC_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    503: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}
OPENAI_TYPES = {
    429: "requests",
    500: "server_error",
    502: "server_error",
    503: "server_error",
    504: "server_error",
    529: "server_error",
}
TEXTS = {
    401: "invalid x-api-key",
    408: "Request timed out",
    429: "This request would exceed your rate limit. Please try again later.",
    500: "Internal server error",
    503: "The service is temporarily unavailable.",
    529: "Overloaded",
}
SPEND_CAP = {
    "anthropic": "This request would exceed your workspace's spend limit for the month.",
    "openai": (
        "You exceeded your current quota, please check your plan and billing details. "
        "For more information on this error, read the docs."
    ),
}


@dataclass
class Refused(Exception):
    """The request is not taken."""

    status: int
    message: str
    type: str | None = None
    """None: what goes with the status."""
    code: str | None = None
    """OpenAI's; the other has none."""
    param: str | None = None

    def body(self, dialect: Dialect, request_id: str) -> dict[str, Any]:
        """The JSON that goes with it."""
        if dialect == "anthropic":
            return {
                "type": "error",
                "error": {"type": self.type_in(dialect), "message": self.message},
                "request_id": request_id,
            }
        return {
            "error": {
                "message": self.message,
                "type": self.type_in(dialect),
                "param": self.param,
                "code": self.code,
            }
        }

    def type_in(self, dialect: Dialect) -> str:
        """The type as this dialect names it."""
        if self.type:
            return self.type
        if dialect == "anthropic":
            return ANTHROPIC_TYPES.get(self.status, "api_error")
        return OPENAI_TYPES.get(self.status, "invalid_request_error")


def invalid(message: str, *, code: str | None = None, param: str | None = None) -> Refused:
    """A 400: the request has a mistake."""
    return Refused(400, message, "invalid_request_error", code, param)
