"""The workbench: a tool that writes a file and one that runs a command."""

from noeta.plugins.workbench.plugin import plugin

__all__ = ["plugin"]
