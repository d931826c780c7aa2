-- Format 7: a run is known again in a project that was moved or copied.

-- The hash of what its record begins with; NULL where that was not written yet, and of older versions.
ALTER TABLE runs ADD COLUMN origin TEXT;
