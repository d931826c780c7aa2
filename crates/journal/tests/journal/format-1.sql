-- A journal as format 1 had it, with one session, one turn and one verdict in it.
PRAGMA journal_mode = WAL;
PRAGMA application_id = 1667787635;
PRAGMA user_version = 1001;
CREATE TABLE sessions (
    id INTEGER PRIMARY KEY,
    agent TEXT NOT NULL,
    client_id TEXT NOT NULL,
    directory TEXT,
    repository TEXT,
    transcript TEXT,
    slug TEXT,
    pane TEXT,
    started_at INTEGER NOT NULL,
    seen_at INTEGER NOT NULL,
    UNIQUE (agent, client_id)
);

-- `key` is the client's own id of the prompt or turn; NULL where it has none.
CREATE TABLE turns (
    id INTEGER PRIMARY KEY,
    session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
    key TEXT,
    opened_at INTEGER NOT NULL,
    holds INTEGER NOT NULL DEFAULT 0,
    prompt TEXT NOT NULL,
    baseline_size INTEGER,
    baseline BLOB,
    UNIQUE (session, key)
);
CREATE INDEX turns_by_session ON turns (session);

CREATE TABLE verdicts (
    id INTEGER PRIMARY KEY,
    turn INTEGER NOT NULL REFERENCES turns ON DELETE CASCADE,
    at INTEGER NOT NULL,
    verdict TEXT NOT NULL,
    scope TEXT NOT NULL,
    message TEXT NOT NULL,
    timings TEXT NOT NULL,
    inputs_version INTEGER NOT NULL,
    inputs_size INTEGER NOT NULL,
    inputs BLOB
);
CREATE INDEX verdicts_by_turn ON verdicts (turn);

CREATE TABLE held_actions (
    turn INTEGER NOT NULL REFERENCES turns ON DELETE CASCADE,
    action TEXT NOT NULL,
    PRIMARY KEY (turn, action)
) WITHOUT ROWID;

CREATE TABLE waivers (
    session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
    action TEXT NOT NULL,
    at INTEGER NOT NULL,
    reason TEXT NOT NULL,
    PRIMARY KEY (session, action)
) WITHOUT ROWID;

CREATE TABLE deliveries (
    session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
    fingerprint TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (session, fingerprint)
) WITHOUT ROWID;

CREATE TABLE session_values (
    session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
    name TEXT NOT NULL,
    value BLOB NOT NULL,
    PRIMARY KEY (session, name)
) WITHOUT ROWID;

CREATE TABLE trust (
    path TEXT PRIMARY KEY,
    content_hash TEXT NOT NULL,
    trusted_at INTEGER NOT NULL
) WITHOUT ROWID;

INSERT INTO sessions (agent, client_id, started_at, seen_at) VALUES ('claude', 'old', 1, 2);
INSERT INTO turns (session, key, opened_at, holds, prompt) VALUES (1, 'k', 1, 1, 'Fix it');
INSERT INTO verdicts (turn, at, verdict, scope, message, timings, inputs_version, inputs_size, inputs)
VALUES (1, 1, 'hold', 'worktree', 'm', '', 2, 1, x'00');
