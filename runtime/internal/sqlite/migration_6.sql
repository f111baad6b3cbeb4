-- What version 6 adds to version 5; schema.sql explains it.
DROP INDEX log_parent; -- took a part of another key for its own
CREATE INDEX log_parent ON log (substr(metadata, instr(metadata, ',"parent_id":"') + 14, 36))
  WHERE instr(metadata, ',"parent_id":"') > 0;

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

CREATE TABLE saturated (
  subscription TEXT PRIMARY KEY
) WITHOUT ROWID;

CREATE TABLE limits (
  name    TEXT    NOT NULL,
  key     TEXT    NOT NULL,
  full_at INTEGER NOT NULL,
  span    INTEGER NOT NULL,
  PRIMARY KEY (name, key)
) WITHOUT ROWID;

CREATE INDEX limits_full ON limits (full_at);

CREATE TABLE limits_clock (
  one  INTEGER PRIMARY KEY CHECK (one = 1),
  now  INTEGER NOT NULL,
  wall INTEGER NOT NULL
);
