-- MCP servers by name. configuration is what reaches a server, with each ${VARIABLE} as it was written; tools is its last tools/list.
CREATE TABLE lt_mcp_servers (
    name TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    description TEXT COLLATE "C",
    transport TEXT COLLATE "C" NOT NULL CHECK (transport IN ('stdio', 'http', 'sse')),
    configuration TEXT COLLATE "C" NOT NULL,
    auto_connect BIGINT NOT NULL,
    tags TEXT[] COLLATE "C" NOT NULL,
    compile_hints TEXT COLLATE "C",
    metadata TEXT COLLATE "C",
    status TEXT COLLATE "C" NOT NULL CHECK (status IN ('registered', 'connected', 'error', 'disconnected')),
    tools TEXT COLLATE "C",
    last_error TEXT COLLATE "C",
    last_connected_at BIGINT,
    revision BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);

CREATE INDEX lt_mcp_servers_by_status ON lt_mcp_servers (status, name);
CREATE INDEX lt_mcp_servers_by_tag ON lt_mcp_servers USING GIN (tags);

-- Counts changes of servers as registry.changes does those of versions.
ALTER TABLE registry ADD COLUMN server_changes BIGINT NOT NULL DEFAULT 0;

-- Recordings. The question that one works on is only named: it may go before the recording does.
CREATE TABLE traces (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    recorded_by TEXT COLLATE "C" NOT NULL,
    task TEXT COLLATE "C",
    workflow TEXT COLLATE "C",
    escalation TEXT COLLATE "C",
    input TEXT COLLATE "C",
    output TEXT COLLATE "C",
    calls BIGINT NOT NULL DEFAULT 0,
    started_at BIGINT NOT NULL,
    touched_at BIGINT NOT NULL,
    ended_at BIGINT
);

CREATE INDEX traces_newest ON traces (started_at, id);
CREATE INDEX traces_newest_of_workflow ON traces (workflow, started_at, id) WHERE workflow IS NOT NULL;
CREATE INDEX traces_newest_of_escalation ON traces (escalation, started_at, id) WHERE escalation IS NOT NULL;
CREATE INDEX traces_touched ON traces (touched_at);

-- The servers that a recording names, as ltc.trace/1 has them.
CREATE TABLE trace_servers (
    trace TEXT COLLATE "C" NOT NULL REFERENCES traces (id) ON DELETE CASCADE,
    name TEXT COLLATE "C" NOT NULL,
    server TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (trace, name)
);

-- A row for each call that has ended, as ltc.trace/1 has it.
CREATE TABLE trace_calls (
    trace TEXT COLLATE "C" NOT NULL REFERENCES traces (id) ON DELETE CASCADE,
    seq BIGINT NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    recorded TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (trace, seq)
);

CREATE UNIQUE INDEX trace_calls_once ON trace_calls (trace, id);
