-- Format 3: which runs there are, so that a session that begins need not search for them. What became of a run is in its
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
