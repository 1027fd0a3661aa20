-- MCP servers by name. configuration is what reaches a server, with each ${VARIABLE} as it was written; tools is its last tools/list.
CREATE TABLE lt_mcp_servers (
    name TEXT NOT NULL PRIMARY KEY,
    description TEXT,
    transport TEXT NOT NULL CHECK (transport IN ('stdio', 'http', 'sse')),
    configuration TEXT NOT NULL,
    auto_connect INTEGER NOT NULL,
    compile_hints TEXT,
    metadata TEXT,
    status TEXT NOT NULL CHECK (status IN ('registered', 'connected', 'error', 'disconnected')),
    tools TEXT,
    last_error TEXT,
    last_connected_at INTEGER,
    revision INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;

CREATE INDEX lt_mcp_servers_by_status ON lt_mcp_servers (status, name);

-- A server's tags, a row each: SQLite has no lists.
CREATE TABLE lt_mcp_server_tags (
    server TEXT NOT NULL REFERENCES lt_mcp_servers (name) ON DELETE CASCADE,
    tag TEXT NOT NULL,
    PRIMARY KEY (server, tag)
) STRICT, WITHOUT ROWID;

CREATE INDEX lt_mcp_servers_by_tag ON lt_mcp_server_tags (tag, server);

-- Counts changes of servers as registry.changes does those of versions.
ALTER TABLE registry ADD COLUMN server_changes INTEGER NOT NULL DEFAULT 0;

-- Recordings. The question that one works on is only named: it may go before the recording does.
CREATE TABLE traces (
    id TEXT NOT NULL PRIMARY KEY,
    recorded_by TEXT NOT NULL,
    task TEXT,
    workflow TEXT,
    escalation TEXT,
    input TEXT,
    output TEXT,
    calls INTEGER NOT NULL DEFAULT 0,
    started_at INTEGER NOT NULL,
    touched_at INTEGER NOT NULL,
    ended_at INTEGER
) STRICT;

CREATE INDEX traces_newest ON traces (started_at, id);
CREATE INDEX traces_newest_of_workflow ON traces (workflow, started_at, id) WHERE workflow IS NOT NULL;
CREATE INDEX traces_newest_of_escalation ON traces (escalation, started_at, id) WHERE escalation IS NOT NULL;
CREATE INDEX traces_touched ON traces (touched_at);

-- The servers that a recording names, as ltc.trace/1 has them.
CREATE TABLE trace_servers (
    trace TEXT NOT NULL REFERENCES traces (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    server TEXT NOT NULL,
    PRIMARY KEY (trace, name)
) STRICT, WITHOUT ROWID;

-- A row for each call that has ended, as ltc.trace/1 has it.
CREATE TABLE trace_calls (
    trace TEXT NOT NULL REFERENCES traces (id) ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    id TEXT NOT NULL,
    recorded TEXT NOT NULL,
    PRIMARY KEY (trace, seq)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX trace_calls_once ON trace_calls (trace, id);
