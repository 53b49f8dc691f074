"""The words the kernel puts before a model or into an outcome, and the bounds they speak of."""

MAX_MODEL_ATTEMPTS = 3
"""`ModelCalled` events without a reply before the turn fails."""
MAX_CUT_REPLIES = 3
"""Replies in a row that were cut at the output limit before the turn fails."""
MAX_EMPTY_REPLIES = 3
"""Empty replies in a row before the turn ends without an answer."""
MAX_INTERNAL_ERRORS = 2
"""Internal errors in a row before the task ends."""

OUTCOME_UNKNOWN = (
    "The worker running this call stopped before a result was recorded. What the call did is"
    " unknown: all of it, part of it or nothing may have happened. Look at its effect first, and"
    " only repeat it if you find that it is missing."
)
CALL_INTERRUPTED = (
    "A person stopped this call before it finished. It may have had part of its effect; look"
    " before you rely on it either way."
)
CALL_NOT_STARTED = "A person stopped the turn before this call started. It had no effect."
EMPTY_MESSAGE = "(empty message)"
EMPTY_REPLY = "(no text)"
GO_ON = "Go on."
CALL_OPEN = "This call has no result yet."
CALL_NEVER_RAN = (
    "The worker shut down just before this call ran. It had no effect; make it again if you"
    " still need it."
)
TURN_INTERRUPTED = "[The user interrupted the turn here.]"
CUT_NOTE = (
    "Your reply reached the output limit and was cut there; a tool call that was not complete"
    " was dropped. Continue from where the text stops, in smaller pieces."
)
EMPTY_NOTE = "Your reply was empty. Answer the user, or call a tool to go on."

MODEL_KEPT_STOPPING = (
    "the model was called {count} times and each time the worker stopped before its reply"
)
CUT_TOO_OFTEN = "{count} replies in a row were cut at the output limit"
EMPTY_TOO_OFTEN = "{count} replies in a row were empty"
COST_UNKNOWN = "a reply came without its usage, so the cap of ${cap:.4f} cannot be kept"
COST_LIMIT = "the model calls of this task cost ${spent:.4f} and its cap is ${cap:.4f}"


def unknown_tool(name: str, known: list[str]) -> str:
    """What the model reads when it calls a tool that is not there."""
    return f"There is no tool named {name!r}. The tools are: {', '.join(known) or 'none'}."


def denied(reason: str) -> str:
    """What the model reads when a call was refused."""
    return f"This call was not allowed and did not run: {reason or 'the user said no.'}"


def nobody_to_ask(reason: str) -> str:
    """What the model reads when a call needs leave and nobody can give it."""
    return (
        f"This call was not allowed and did not run: it needs the user's leave ({reason}), and"
        " nobody can be asked in this run. Go on without it, or say what you would have done."
    )
