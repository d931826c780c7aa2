-- Format 6: one stop can judge several repositories, each with a verdict of its own.

-- The root of the working tree that the verdict is about; NULL if that is the one of the session.
ALTER TABLE verdicts ADD COLUMN repository TEXT;
