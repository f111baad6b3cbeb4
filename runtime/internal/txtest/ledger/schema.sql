CREATE TABLE accounts (
  id         INTEGER   PRIMARY KEY,
  owner      TEXT      NOT NULL,
  balance    INTEGER   NOT NULL CHECK (balance >= 0),
  changed_at TIMESTAMP
);

CREATE TABLE orders (
  id      TEXT    PRIMARY KEY,
  account INTEGER NOT NULL REFERENCES accounts (id),
  total   INTEGER NOT NULL,
  express BOOLEAN NOT NULL DEFAULT FALSE,
  note    TEXT
);
