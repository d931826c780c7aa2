-- Format 2. Autosaves: how each ended, and what became of its push.

CREATE TABLE autosaves (
    id INTEGER PRIMARY KEY,
    session INTEGER REFERENCES sessions ON DELETE CASCADE,
    turn INTEGER REFERENCES turns ON DELETE SET NULL,
    at INTEGER NOT NULL,
    reason TEXT NOT NULL,
    percent INTEGER,
    outcome TEXT NOT NULL,
    snapshot TEXT,
    commit_id TEXT,
    branch TEXT,
    milliseconds INTEGER NOT NULL,
    push TEXT NOT NULL,
    push_milliseconds INTEGER,
    push_told INTEGER NOT NULL DEFAULT 0,
    repository TEXT NOT NULL,
    detail TEXT NOT NULL,
    push_detail TEXT NOT NULL DEFAULT ''
);
CREATE INDEX autosaves_by_session ON autosaves (session);
CREATE INDEX autosaves_by_turn ON autosaves (turn);

-- Which runs there are, so that a session that begins need not search for them. What became of a run is in its
-- own record; this only leads there.

CREATE TABLE runs (
    id INTEGER PRIMARY KEY,
    repository TEXT NOT NULL,
    title TEXT NOT NULL,
    run TEXT NOT NULL,
    state TEXT NOT NULL,
    changed_at INTEGER NOT NULL,
    UNIQUE (repository, title, run)
);
CREATE INDEX runs_by_repository ON runs (repository, changed_at);
