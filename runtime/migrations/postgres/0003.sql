-- What a version was compiled from: the names of its recordings, and the hints.
ALTER TABLE versions ADD COLUMN made_of TEXT COLLATE "C";

-- What is tried before a person is asked: for a step of a workflow, or (an empty step) for a workflow as a whole. The workflow that solves it and the recording are only named.
CREATE TABLE solutions (
    workflow TEXT COLLATE "C" NOT NULL,
    step TEXT COLLATE "C" NOT NULL,
    solution TEXT COLLATE "C" NOT NULL,
    trace TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (workflow, step)
);
