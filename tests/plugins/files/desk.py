"""A desk: the file tools on a directory, called one by one, with what they record folded."""

from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from noeta.backends.execenvs.local import LocalEnv
from noeta.core.events import NO_EVIDENCE
from noeta.core.execenv import ExecEnv
from noeta.core.tool import AnyTool, InvalidInput, ToolContext, ToolOutput
from noeta.plugins.files import plugin

TOOLS: dict[str, AnyTool] = {tool.name: tool for tool in plugin.tools}


@dataclass
class Desk:
    """Calls tools as the runner does: parse, prepare, run, fold."""

    path: Path
    env: ExecEnv
    state: object = None
    evidence: msgspec.Raw = field(default_factory=lambda: NO_EVIDENCE)
    """Of the newest call that could start."""

    @classmethod
    def at(cls, path: Path) -> "Desk":
        """On this directory."""
        (path / "desk").mkdir()
        return cls(path=path / "desk", env=LocalEnv.here(str(path / "desk")))

    def put(self, name: str, data: bytes | str) -> Path:
        """Put a file there, as somebody else would."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return path

    def bytes_of(self, name: str) -> bytes:
        """A file's bytes."""
        return (self.path / name).read_bytes()

    def context(self) -> ToolContext:
        """Of a call that begins now."""
        return ToolContext(
            task_id="t",
            call_id="c1",
            epoch=1,
            env=self.env,
            evidence=self.evidence,
            state=self.state,
        )

    async def call(self, name: str, **asked: object) -> ToolOutput:
        """What the call comes to."""
        parsed = await self.prepare(name, **asked)
        return parsed if isinstance(parsed, ToolOutput) else await self.run(name, parsed)

    async def prepare(self, name: str, **asked: object) -> ToolOutput | msgspec.Struct:
        """The call's parsed input once it may start, else its result."""
        tool = TOOLS[name]
        # A dash at the start of a name is written as an underscore here.
        fields = {f"-{key[1:]}" if key[0] == "_" else key: asked[key] for key in asked}
        self.evidence = NO_EVIDENCE
        try:
            parsed: msgspec.Struct = tool.parse(msgspec.Raw(msgspec.json.encode(fields)))
            if tool.prepare is not None:
                self.evidence = await tool.prepare(parsed, self.context())
        except InvalidInput as error:
            return ToolOutput(text=str(error), is_error=True)
        return parsed

    async def run(self, name: str, parsed: msgspec.Struct) -> ToolOutput:
        """What a call that was prepared comes to."""
        output = await TOOLS[name].run(parsed, self.context())
        self.fold(output)
        return output

    async def recover(self, name: str, parsed: msgspec.Struct) -> ToolOutput | None:
        """What the newest call came to, as another worker can prove it."""
        look_up = TOOLS[name].recover
        assert look_up is not None
        output = await look_up(parsed, self.context())
        if output is not None:
            self.fold(output)
        return output

    def fold(self, output: ToolOutput) -> None:
        """Remember what a call recorded."""
        assert plugin.fold is not None
        for record in output.records:
            self.state = plugin.fold(self.state, record)

    async def says(self, name: str, **asked: object) -> str:
        """The text of a call that must succeed."""
        output = await self.call(name, **asked)
        assert not output.is_error, output.text
        return output.text

    async def fails(self, name: str, **asked: object) -> str:
        """The text of a call that must fail."""
        output = await self.call(name, **asked)
        assert output.is_error, output.text
        assert output.records == ()
        return output.text
