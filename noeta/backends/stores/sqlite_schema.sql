-- Schema 1 of the sqlite store. Statements end with a semicolon at the end of a line.

CREATE TABLE meta (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
);

-- due_at is when a claim may take the row: derived here so that no statement can forget it. It is
-- NULL for an idle wait and for an ended task, so neither is in the claim index.
CREATE TABLE tasks (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    root TEXT NOT NULL,
    parent TEXT,
    parent_call TEXT,
    queue TEXT NOT NULL,
    kind TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('ready', 'running', 'waiting', 'kept', 'ended')),
    owner TEXT,
    owner_epoch INTEGER NOT NULL,
    lease_until REAL,
    ready_at REAL,
    last_seq INTEGER NOT NULL,
    posted_count INTEGER NOT NULL DEFAULT 0,
    taken_count INTEGER NOT NULL DEFAULT 0,
    cancelled INTEGER NOT NULL DEFAULT 0,
    claims_since_append INTEGER NOT NULL,
    title TEXT NOT NULL,
    cwd TEXT NOT NULL,
    outcome TEXT,
    created_at REAL NOT NULL,
    updated_at REAL NOT NULL,
    ended_at REAL,
    first_events_count INTEGER NOT NULL,
    due_at REAL GENERATED ALWAYS AS (
        CASE status
            WHEN 'ready' THEN COALESCE(ready_at, created_at)
            WHEN 'waiting' THEN ready_at
            WHEN 'running' THEN lease_until
            WHEN 'kept' THEN lease_until
        END
    ) VIRTUAL,
    CHECK ((owner IS NOT NULL) = (status IN ('running', 'kept'))),
    CHECK ((owner IS NOT NULL) = (lease_until IS NOT NULL))
);

-- One index for all claiming: rows without an owner by queue and time, held rows by owner.
CREATE INDEX tasks_claim ON tasks (owner, queue, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX tasks_root ON tasks (root);
CREATE INDEX tasks_updated ON tasks (updated_at);

-- An event's id is its task's key times 2^32 plus its seq: unique, in the log's order, and the
-- table's own key, so that an append touches no second index.
CREATE TABLE events (
    id INTEGER PRIMARY KEY,
    epoch INTEGER NOT NULL,
    at REAL NOT NULL,
    body BLOB NOT NULL
);

-- An item's id is its task's posted_count when it came: it grows, and is never used again.
CREATE TABLE inbox (
    task INTEGER NOT NULL,
    id INTEGER NOT NULL,
    kind TEXT NOT NULL,
    body BLOB NOT NULL,
    key TEXT,
    sender TEXT NOT NULL,
    posted_at REAL NOT NULL,
    UNIQUE (task, id)
);

-- Keys stay when their item is taken, so a late repeat is still known. Only a key: no rowid.
CREATE TABLE inbox_keys (
    task INTEGER NOT NULL,
    key TEXT NOT NULL,
    PRIMARY KEY (task, key)
) WITHOUT ROWID;
