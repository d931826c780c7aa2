-- Format 5: the policy that counted at each prompt, what reduced checking, and where the hooks were registered.

-- The texts of a policy by their hash: most prompts have the same.
CREATE TABLE policies (
    hash TEXT PRIMARY KEY,
    seen_at INTEGER NOT NULL,
    texts BLOB NOT NULL
);

CREATE TABLE turn_policies (
    turn INTEGER PRIMARY KEY REFERENCES turns ON DELETE CASCADE,
    hash TEXT NOT NULL
);

-- `agent` and `client_id` are the session that it is about, if it is known; `repository` is NULL if it is about all.
-- What has a `key` is noted once.
CREATE TABLE notices (
    id INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    author TEXT NOT NULL,
    agent TEXT,
    client_id TEXT,
    repository TEXT,
    key TEXT UNIQUE,
    is_told INTEGER NOT NULL,
    text TEXT NOT NULL
);
CREATE INDEX untold_notices ON notices (id) WHERE is_told = 0;

-- `stamp` is how the file looked then, so that one that was not touched need not be read.
CREATE TABLE registrations (
    agent TEXT NOT NULL,
    file TEXT NOT NULL,
    seen_at INTEGER NOT NULL,
    stamp TEXT NOT NULL,
    is_gone INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (agent, file)
) WITHOUT ROWID;
