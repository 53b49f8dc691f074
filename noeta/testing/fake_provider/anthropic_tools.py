"""Whether Anthropic's Messages would take a request's tools, and its choice among them."""

from noeta.testing.fake_provider.anthropic_block import check_cache_control
from noeta.testing.fake_provider.models import FakeModel
from noeta.testing.fake_provider.refused import invalid
from noeta.testing.fake_provider.shape import (
    a_list,
    a_string,
    an_object,
    matching,
    needed,
    nothing_else,
    one_of,
)
from noeta.testing.fake_provider.turn import Json

TOOL_FIELDS = frozenset(
    [
        "name",
        "description",
        "input_schema",
        "type",
        "cache_control",
        "strict",
        "defer_loading",
        "allowed_callers",
        "eager_input_streaming",
        "input_examples",
    ]
)
TOOL_NAME = "^[a-zA-Z0-9_-]{1,128}$"


def check_tools(tools: object) -> None:
    """Refused when a tool is not declared as it must be."""
    names: set[str] = set()
    for index, entry in enumerate(a_list(tools or [], "tools")):
        path = f"tools.{index}"
        tool = an_object(entry, path)
        check_cache_control(tool, path)
        if tool.get("type") not in (None, "custom"):
            # A tool of the provider's own; its fields are not ours to check.
            continue
        path = f"{path}.custom"
        name = matching(needed(tool, "name", path), TOOL_NAME, f"{path}.name")
        nothing_else(tool, TOOL_FIELDS, path)
        schema = an_object(needed(tool, "input_schema", path), f"{path}.input_schema")
        kind = needed(schema, "type", f"{path}.input_schema")
        one_of(kind, ("object",), f"{path}.input_schema.type")
        for keyword in ("oneOf", "allOf", "anyOf"):
            if keyword in schema:
                raise invalid(
                    f"{path}.input_schema: input_schema does not support oneOf, allOf, or anyOf "
                    "at the top level"
                )
        an_object(schema.get("properties") or {}, f"{path}.input_schema.properties")
        if name in names:
            raise invalid("tools: Tool names must be unique.")
        names.add(name)


def check_tool_choice(body: Json, model: FakeModel, thinking: str | None) -> None:
    """Refused when the choice of tools does not go with the tools, the model or its thinking."""
    if body.get("tool_choice") is None:
        return
    choice = an_object(body["tool_choice"], "tool_choice")
    types = ("auto", "any", "tool", "none")
    kind = one_of(needed(choice, "type", "tool_choice"), types, "tool_choice.type")
    if kind in ("any", "tool"):
        if thinking in ("enabled", "adaptive", "between_tools"):
            raise invalid("Thinking may not be enabled when tool_choice forces tool use.")
        if not model.forced_tools:
            raise invalid("tool_choice: forcing tool use is not supported for this model.")
    if not body.get("tools"):
        raise invalid("tool_choice: tool_choice may only be specified while providing tools.")
    if kind == "tool":
        name = a_string(needed(choice, "name", "tool_choice.tool"), "tool_choice.tool.name")
        if name not in {tool.get("name") for tool in body["tools"]}:
            raise invalid(f"Tool '{name}' not found in provided tools")
