-- What version 4 adds to version 3; schema.sql explains it.
ALTER TABLE routes ADD COLUMN former INTEGER NOT NULL DEFAULT 0;

CREATE TABLE unhandled (
  subscription TEXT PRIMARY KEY
) WITHOUT ROWID;
