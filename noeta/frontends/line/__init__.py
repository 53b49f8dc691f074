"""The line front end: a chat and a single prompt for any terminal, pipe or file.

It writes line after line and never moves the cursor. `typed` and `terminal` are the streams,
`sanitize`, `prose`, `render`, `question` and `page` turn values into text without doing I/O,
`session` merges what happens, and `chat` and `prompt_run` are the two loops.
"""

from noeta.frontends.line.chat import chat
from noeta.frontends.line.prompt_run import run_prompt
from noeta.frontends.line.terminal import Terminal

__all__ = ["Terminal", "chat", "run_prompt"]
