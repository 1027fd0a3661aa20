-- Times are milliseconds since 1970; JSON is the text that was written.

-- A workflow with all that it runs, under the digest of its text.
CREATE TABLE definitions (
    id TEXT NOT NULL PRIMARY KEY,
    text TEXT NOT NULL
) STRICT;

-- What changes with each step of a run. The long texts stand apart (run_texts): an UPDATE writes a whole row anew.
CREATE TABLE runs (
    id TEXT NOT NULL PRIMARY KEY,
    workflow TEXT NOT NULL,
    definition TEXT NOT NULL REFERENCES definitions (id),
    status TEXT NOT NULL CHECK (status IN ('queued', 'running', 'waiting', 'done', 'failed', 'cancelled')),
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    ended_at INTEGER,
    deadline INTEGER,
    wake_at INTEGER,
    -- From when on somebody may take it: when it was queued, its wake_at or deadline, or the end of its lease.
    due_at INTEGER,
    worker TEXT,
    lease_until INTEGER,
    cancel_requested INTEGER NOT NULL DEFAULT 0,
    events INTEGER NOT NULL DEFAULT 0
) STRICT;

-- The conditions of the indexes stand word for word in the statements that use them.
CREATE INDEX runs_queued ON runs (status, due_at, id) WHERE status = 'queued';
CREATE INDEX runs_due ON runs (due_at, id) WHERE status <> 'queued' AND due_at IS NOT NULL;
CREATE INDEX runs_of_worker ON runs (worker) WHERE status = 'running';
CREATE INDEX runs_newest ON runs (created_at, id);
CREATE INDEX runs_newest_by_status ON runs (status, created_at, id);
CREATE INDEX runs_newest_by_workflow ON runs (workflow, created_at, id);
CREATE INDEX runs_ended ON runs (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX runs_of_definition ON runs (definition);

CREATE TABLE run_texts (
    run TEXT NOT NULL PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
    input TEXT NOT NULL,
    output TEXT,
    failure TEXT
) STRICT;

-- The journals. is_end marks the end of a step that counts: an 'again' takes the mark from the end before it.
CREATE TABLE events (
    run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    step TEXT NOT NULL,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    payload TEXT,
    is_end INTEGER NOT NULL,
    PRIMARY KEY (run, seq)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX events_one_end ON events (run, step) WHERE is_end = 1;

CREATE TABLE escalations (
    id TEXT NOT NULL PRIMARY KEY,
    run TEXT REFERENCES runs (id) ON DELETE CASCADE,
    step TEXT,
    role TEXT NOT NULL,
    kind TEXT NOT NULL,
    subkind TEXT NOT NULL,
    priority INTEGER NOT NULL,
    message TEXT NOT NULL,
    data TEXT,
    form TEXT,
    status TEXT NOT NULL CHECK (status IN ('pending', 'claimed', 'resolved', 'closed')),
    created_at INTEGER NOT NULL,
    deadline INTEGER,
    claimed_by TEXT,
    claimed_until INTEGER,
    ended_at INTEGER,
    resolved_by TEXT,
    answer TEXT
) STRICT;

CREATE INDEX escalations_open ON escalations (priority, created_at, id) WHERE ended_at IS NULL;
CREATE INDEX escalations_open_of_role ON escalations (role, priority, created_at, id) WHERE ended_at IS NULL;
CREATE INDEX escalations_ended ON escalations (status, priority, created_at, id) WHERE ended_at IS NOT NULL;
CREATE INDEX escalations_ended_of_role ON escalations (role, status, priority, created_at, id) WHERE ended_at IS NOT NULL;
CREATE INDEX escalations_of_run ON escalations (run) WHERE run IS NOT NULL;

CREATE TABLE versions (
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    definition TEXT NOT NULL REFERENCES definitions (id),
    description TEXT,
    state TEXT NOT NULL CHECK (state IN ('draft', 'deployed', 'active', 'archived')),
    created_at INTEGER NOT NULL,
    PRIMARY KEY (name, version)
) STRICT;

CREATE UNIQUE INDEX versions_one_active ON versions (name) WHERE state = 'active';
CREATE INDEX versions_listed ON versions (name, version DESC);
CREATE INDEX versions_listed_by_state ON versions (state, name, version DESC);
CREATE INDEX versions_of_definition ON versions (definition);

-- One row. Whoever changes a version counts here first, so that only one does at a time.
CREATE TABLE registry (
    changes INTEGER NOT NULL
) STRICT;

INSERT INTO registry (changes) VALUES (0);
