-- Format 2: autosaves, how each ended, and what became of its push.

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
