"""What waits: the runtime claims tasks, a step works on each, the lease keeper holds them.

`runtime` is one worker. For each claim it lets `load` fold the log and `step` carry out what
`next_action` chooses; `calls`, `model_call`, `inbox` and `waiting` are the step's parts, `draft`
is its one way to write, `failure` bounds its bugs and `lease` keeps its claims.
"""
