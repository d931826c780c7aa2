-- Format 8: content can be proven by less than its package has.

-- What was done, `ran`, `linted` or `built`, if that says less than the package's own way; NULL if it does not, if the
-- content is unproven, and of older versions.
ALTER TABLE contents ADD COLUMN weak TEXT;
