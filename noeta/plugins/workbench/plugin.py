"""The workbench as a plugin: its tools, its gate and its line of the system prompt."""

from noeta.core.plugin import Allow, Ask, GateCall, Plugin, Verdict
from noeta.core.view import TaskView
from noeta.plugins.workbench import texts
from noeta.plugins.workbench.tools import BASH, WRITE


def gate(call: GateCall, view: TaskView) -> Verdict:
    """Ask before a write or a command, as far as the task's permission mode wants it."""
    match call.name, view.permission_mode:
        case _, "bypassPermissions":
            return Allow()
        case "Write", "acceptEdits":
            return Allow()
        case "Write", _:
            return Ask("it writes a file")
        case "Bash", _:
            return Ask("it runs a command")
        case _:
            return Allow()


def system(view: TaskView) -> str:
    """Where the tools work."""
    return texts.SYSTEM.format(cwd=view.cwd)


plugin = Plugin(
    name="workbench",
    version="1",
    source="noeta",
    tools=(WRITE, BASH),
    gates=(gate,),
    system=system,
)
