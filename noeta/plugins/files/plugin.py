"""The file tools as a plugin. Whether a call may run is not decided here."""

from noeta.core.plugin import Plugin
from noeta.plugins.files.edit import EDIT
from noeta.plugins.files.glob import GLOB
from noeta.plugins.files.grep import GREP
from noeta.plugins.files.read import READ
from noeta.plugins.files.seen import fold
from noeta.plugins.files.write import WRITE

plugin = Plugin(
    name="files",
    version="1",
    source="noeta",
    tools=(READ, WRITE, EDIT, GLOB, GREP),
    fold=fold,
)
