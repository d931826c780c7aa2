-- Format 4: the ledger. Which content of which file is proven for which action, by which run; and which is unproven.
-- Worktrees of one repository share its common git folder, and so their ledger.

CREATE TABLE repositories (
    id INTEGER PRIMARY KEY,
    folder TEXT NOT NULL UNIQUE
);

-- `session` is NULL if a person ran it.
CREATE TABLE proofs (
    id INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    session INTEGER,
    verdict INTEGER,
    command TEXT NOT NULL
);

-- Whatever changes the standing of a content replaces its row, so that ids are in the order of `at`. `proof` is NULL while
-- the content is unproven. Turns and proofs may be pruned earlier than what refers to them here.
CREATE TABLE contents (
    id INTEGER PRIMARY KEY,
    repository INTEGER NOT NULL,
    path TEXT NOT NULL,
    content TEXT NOT NULL,
    action TEXT NOT NULL,
    at INTEGER NOT NULL,
    size INTEGER NOT NULL,
    modified_ns INTEGER NOT NULL,
    proof INTEGER,
    turn INTEGER,
    UNIQUE (repository, path, content, action)
);
CREATE INDEX unproven_contents ON contents (repository, id) WHERE proof IS NULL;
