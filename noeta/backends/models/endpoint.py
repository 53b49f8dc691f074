"""Endpoint: where a provider is, how it is asked, and how long it may be silent.

Plain values; nothing here opens a connection. The key and the extra headers stay out of every
repr, and `scrubbed` takes them out of any text that came from outside.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

KEY_LIKE = re.compile(r"\b(?:sk|pk|xai|gsk|rk)[-_][\w*-]{6,}")
"""Providers repeat a wrong key in part, with stars in the middle."""
SECRET_CHARS_MIN = 6
"""A shorter header value is taken for a word: taking it out would tear the text apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long a reply may take; each bound makes another attempt worth while."""

    connect_seconds: float = 15.0
    idle_seconds: float = 300.0
    """Without a single byte, pings too. Some models think for minutes and send nothing."""
    quiet_seconds: float = 900.0
    """With nothing but pings: a model that thinks out of sight may need many minutes."""
    total_seconds: float = 3600.0
    """For the whole reply: 128,000 tokens at 40 a second are 53 minutes."""
    grace_seconds: float = 3.0
    """For what comes after the end of the reply, such as usage and the end of the stream."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A provider as this process reaches it."""

    provider: str
    """Its name in routes and in errors."""
    base_url: str
    """Without a slash at the end."""
    key: str = field(default="", repr=False)
    """Empty: none is sent."""
    key_env: str = ""
    """The environment variable the key came from: what an error tells people to set."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    patience: Patience = field(default_factory=Patience)

    def scrubbed(self, text: str) -> str:
        """The text without the key, without header values and without what looks like a key."""
        for secret in (self.key, *self.headers.values()):
            if len(secret) >= SECRET_CHARS_MIN:
                text = text.replace(secret, "[secret]")
        return KEY_LIKE.sub("[secret]", text)

    @property
    def set_key(self) -> str:
        """What to do about a key, as the end of a sentence."""
        if self.key_env:
            return f"set {self.key_env} to a valid key"
        return f"give the provider {self.provider!r} a key_env in the settings"


def model_name(route: str) -> str:
    """The provider's own name of a model: a route without `provider/`."""
    _, slash, name = route.partition("/")
    return name if slash else route
