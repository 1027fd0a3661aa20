-- What a version was compiled from: the names of its recordings, and the hints.
ALTER TABLE versions ADD COLUMN made_of TEXT;

-- What is tried before a person is asked: for a step of a workflow, or (an empty step) for a workflow as a whole. The workflow that solves it and the recording are only named.
CREATE TABLE solutions (
    workflow TEXT NOT NULL,
    step TEXT NOT NULL,
    solution TEXT NOT NULL,
    trace TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (workflow, step)
) STRICT, WITHOUT ROWID;
