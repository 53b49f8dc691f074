"""The root of every error noeta raises on purpose.

An error lives in the file of the contract that raises it and is named for what happened; this
page only draws them together, and a house test holds the drawing to the classes.

NoetaError
├── BadId                   ids: an id or key that is empty or malformed
├── UnreadableEntry         codec: stored bytes that are no event of ours
├── NewerEntry              codec: an event that a newer version wrote
├── UnreadableLog           fold: events that are fine alone and impossible in this order
├── UnreadableItem          item: a posted item that does not fit its kind
├── Conflict                store: the claim or the expected seq is no longer true
├── InboxNotEmpty           store: a hand-back was refused, something was posted
├── NoSuchTask              store: no row has this id
├── TaskExists              store: another task has this id
├── TaskOver                store: the task has ended and takes no messages
├── StoreUnavailable        store: nothing is known to be written
├── CommitUnknown           store: the write may have landed
├── ModelError              model: the provider or its reply failed
├── InvalidInput            tool: a call has an input that does not fit
├── ExecEnvError            execenv: files or commands could not be reached
│   ├── FileMissing
│   ├── FileChanged
│   └── FileRefused
├── PluginError             plugin: a plugin is broken, missing or collides
├── AlreadySettled          client: an answer came for a call that has one
├── AmbiguousId             client: several tasks start with these characters
├── PromptRefused           client: a message is empty or too large
├── SettingsError           settings: a settings file or flag has a mistake
├── DemoFailed              demo: the demo did not show what it promises
└── ScriptError             script: a model script has a mistake
"""


class NoetaError(Exception):
    """Something noeta names went wrong; the message is one sentence for a person."""
