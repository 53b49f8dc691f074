"""Contracts and stand-ins that are shipped, for our tests and for authors of adapters."""
