-- What version 6 adds to version 5; schema.sql explains it.
ALTER TABLE attempts ADD COLUMN log TEXT;

CREATE TABLE schedules (
  name   TEXT    PRIMARY KEY,
  type   TEXT    NOT NULL,
  rule   TEXT    NOT NULL,
  since  INTEGER NOT NULL,
  passed INTEGER NOT NULL,
  event  BLOB,
  at     INTEGER
) WITHOUT ROWID;
