"""The plugins of one process, in order: tools by name, gates, prompt parts and pins."""

from collections.abc import Mapping, Sequence

from noeta.core.events import Pin, PromptSet
from noeta.core.fold import PluginFold
from noeta.core.message import Limits
from noeta.core.plugin import Gate, Plugin, PluginError
from noeta.core.tool import AnyTool
from noeta.core.view import TaskView


def pin(plugin: Plugin) -> Pin:
    """The plugin as the log names it."""
    return Pin(
        name=plugin.name,
        source=plugin.source,
        version=plugin.version,
        args_hash=plugin.args_hash,
    )


class Registry:
    """Plugins, checked for collisions. Raises PluginError naming both sides of one."""

    def __init__(self, plugins: Sequence[Plugin], *, system: Sequence[str] = ()) -> None:
        self.plugins = tuple(plugins)
        self._system = tuple(system)
        self.tools: Mapping[str, AnyTool] = _tools_by_name(self.plugins)
        self.owners: Mapping[str, str] = {
            tool.name: plugin.name for plugin in self.plugins for tool in plugin.tools
        }
        """Which plugin brings a tool."""
        self.gates: Sequence[tuple[str, Gate]] = tuple(
            (plugin.name, gate) for plugin in self.plugins for gate in plugin.gates
        )
        self.folders: Mapping[str, PluginFold] = {
            plugin.name: plugin.fold for plugin in self.plugins if plugin.fold is not None
        }
        self.pins = tuple(pin(plugin) for plugin in self.plugins)
        self.parallel = frozenset(name for name, tool in self.tools.items() if tool.flags.parallel)
        self._specs = tuple(tool.spec() for tool in self.tools.values())

    def prompt(self, model: str, limits: Limits, view: TaskView) -> PromptSet:
        """What a turn's requests start with, as this process would have it."""
        parts = [plugin.system(view) for plugin in self.plugins if plugin.system is not None]
        system = tuple(part for part in (*self._system, *parts) if part)
        return PromptSet(model=model, system=system, tools=self._specs, limits=limits)


def _tools_by_name(plugins: Sequence[Plugin]) -> dict[str, AnyTool]:
    tools: dict[str, AnyTool] = {}
    owners: dict[str, str] = {}
    names: set[str] = set()
    for plugin in plugins:
        if plugin.name in names:
            raise PluginError(f"two plugins are named {plugin.name!r}; remove one")
        names.add(plugin.name)
        for tool in plugin.tools:
            if tool.name in tools:
                raise PluginError(
                    f"plugins {owners[tool.name]!r} and {plugin.name!r} both bring a tool named"
                    f" {tool.name!r}; turn one of them off"
                )
            tools[tool.name] = tool
            owners[tool.name] = plugin.name
    return tools
