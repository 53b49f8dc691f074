"""The kernel: words, then decisions, then contracts.

Read left to right, the five words of the flow live here:

    store.read -> codec -> fold -> next_action -> step -> store.append

- **store** (`store.py`): rows, logs, inboxes, and the fences that make one writer.
- **fold** (`codec.py`, `fold.py`, `state.py`): bytes to events to the one TaskState.
- **next_action** (`action.py`): chooses, from the state alone, what happens next.
- **step** (`runner/step.py`): does it: models, tools, waits. Nothing else has effects.
- **append** (`runner/draft.py`): the one way into a log, one transaction each.

Words: ids, clock, task, texts, retry, message, events, item, errors. Decisions, pure: state,
fold, action, context (the request renderer), codec. Contracts: store, model, execenv, view,
tool, plugin, registry, progress. Each of the five has one home: nothing else changes a state,
picks what comes next or writes to a log.
"""
