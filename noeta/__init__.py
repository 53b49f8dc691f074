"""noeta: LLM agents that cannot lose their work."""

__version__ = "0.1.0"
