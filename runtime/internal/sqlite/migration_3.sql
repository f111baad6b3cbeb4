-- What version 3 adds to version 2; schema.sql explains it.
CREATE TABLE identity (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  log BLOB    NOT NULL
);

INSERT INTO identity (one, log) VALUES (1, randomblob(16));
