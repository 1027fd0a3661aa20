-- Times are milliseconds since 1970; JSON is the text that was written. COLLATE "C" orders texts by their bytes, as the lists promise.

-- A workflow with all that it runs, under the digest of its text.
CREATE TABLE definitions (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    text TEXT COLLATE "C" NOT NULL
);

-- What changes with each step of a run. The long texts stand apart (run_texts): an UPDATE writes a whole row anew.
CREATE TABLE runs (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    workflow TEXT COLLATE "C" NOT NULL,
    definition TEXT COLLATE "C" NOT NULL REFERENCES definitions (id),
    status TEXT COLLATE "C" NOT NULL CHECK (status IN ('queued', 'running', 'waiting', 'done', 'failed', 'cancelled')),
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    ended_at BIGINT,
    deadline BIGINT,
    wake_at BIGINT,
    -- From when on somebody may take it: when it was queued, its wake_at or deadline, or the end of its lease.
    due_at BIGINT,
    worker TEXT COLLATE "C",
    lease_until BIGINT,
    cancel_requested BIGINT NOT NULL DEFAULT 0,
    events BIGINT NOT NULL DEFAULT 0
);

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
    run TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
    input TEXT COLLATE "C" NOT NULL,
    output TEXT COLLATE "C",
    failure TEXT COLLATE "C"
);

-- The journals. is_end marks the end of a step that counts: an 'again' takes the mark from the end before it.
CREATE TABLE events (
    run TEXT COLLATE "C" NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    seq BIGINT NOT NULL,
    step TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    payload TEXT COLLATE "C",
    is_end BIGINT NOT NULL,
    PRIMARY KEY (run, seq)
);

CREATE UNIQUE INDEX events_one_end ON events (run, step) WHERE is_end = 1;

CREATE TABLE escalations (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    run TEXT COLLATE "C" REFERENCES runs (id) ON DELETE CASCADE,
    step TEXT COLLATE "C",
    role TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    subkind TEXT COLLATE "C" NOT NULL,
    priority BIGINT NOT NULL,
    message TEXT COLLATE "C" NOT NULL,
    data TEXT COLLATE "C",
    form TEXT COLLATE "C",
    status TEXT COLLATE "C" NOT NULL CHECK (status IN ('pending', 'claimed', 'resolved', 'closed')),
    created_at BIGINT NOT NULL,
    deadline BIGINT,
    claimed_by TEXT COLLATE "C",
    claimed_until BIGINT,
    ended_at BIGINT,
    resolved_by TEXT COLLATE "C",
    answer TEXT COLLATE "C"
);

CREATE INDEX escalations_open ON escalations (priority, created_at, id) WHERE ended_at IS NULL;
CREATE INDEX escalations_open_of_role ON escalations (role, priority, created_at, id) WHERE ended_at IS NULL;
CREATE INDEX escalations_ended ON escalations (status, priority, created_at, id) WHERE ended_at IS NOT NULL;
CREATE INDEX escalations_ended_of_role ON escalations (role, status, priority, created_at, id) WHERE ended_at IS NOT NULL;
CREATE INDEX escalations_of_run ON escalations (run) WHERE run IS NOT NULL;

CREATE TABLE versions (
    name TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL,
    definition TEXT COLLATE "C" NOT NULL REFERENCES definitions (id),
    description TEXT COLLATE "C",
    state TEXT COLLATE "C" NOT NULL CHECK (state IN ('draft', 'deployed', 'active', 'archived')),
    created_at BIGINT NOT NULL,
    PRIMARY KEY (name, version)
);

CREATE UNIQUE INDEX versions_one_active ON versions (name) WHERE state = 'active';
CREATE INDEX versions_listed ON versions (name, version DESC);
CREATE INDEX versions_listed_by_state ON versions (state, name, version DESC);
CREATE INDEX versions_of_definition ON versions (definition);

-- One row. Whoever changes a version counts here first, so that only one does at a time.
CREATE TABLE registry (
    changes BIGINT NOT NULL
);

INSERT INTO registry (changes) VALUES (0);
