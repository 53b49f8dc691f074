"""Sets of names, written as a line of text."""


def names(text: str) -> frozenset[str]:
    """The words of the text."""
    return frozenset(text.split())
