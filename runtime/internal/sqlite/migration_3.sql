-- What version 3 adds to version 2; schema.sql explains it.
CREATE TABLE identity (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  log BLOB    NOT NULL
);

INSERT INTO identity (one, log) VALUES (1, randomblob(16));

ALTER TABLE deliveries ADD COLUMN wait INTEGER;
ALTER TABLE deliveries ADD COLUMN snoozes INTEGER NOT NULL DEFAULT 0;
CREATE INDEX deliveries_snoozed ON deliveries (snoozes) WHERE snoozes > 0;

CREATE TABLE outcomes (
  seq          INTEGER NOT NULL,
  subscription INTEGER NOT NULL,
  history      INTEGER NOT NULL,
  at           INTEGER NOT NULL,
  PRIMARY KEY (seq, subscription)
) WITHOUT ROWID;

CREATE TABLE breakers (
  subscription TEXT    PRIMARY KEY,
  member_of    TEXT,
  state        TEXT    NOT NULL CHECK (state IN ('open', 'half-open')),
  since        INTEGER NOT NULL,
  until        INTEGER,
  failures     INTEGER NOT NULL,
  deliveries   INTEGER NOT NULL,
  last_error   TEXT    NOT NULL
) WITHOUT ROWID;

CREATE TABLE breaker_requests (
  subscription TEXT    PRIMARY KEY,
  actor        TEXT    NOT NULL,
  at           INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE running (
  subscription TEXT    NOT NULL,
  member_of    TEXT,
  worker       INTEGER NOT NULL,
  event        BLOB    NOT NULL,
  type         TEXT    NOT NULL,
  attempt      INTEGER NOT NULL,
  started      INTEGER NOT NULL,
  deadline     INTEGER NOT NULL,
  abandoned    INTEGER NOT NULL
);

DROP VIEW events;
CREATE VIEW events AS
SELECT
  lower(substr(hex(l.id), 1, 8) || '-' || substr(hex(l.id), 9, 4) || '-' || substr(hex(l.id), 13, 4) || '-' ||
        substr(hex(l.id), 17, 4) || '-' || substr(hex(l.id), 21)) AS id,
  t.name AS type,
  l.payload,
  CASE
    WHEN EXISTS (SELECT 1 FROM deliveries d WHERE d.seq = l.seq AND d.state = 'running') THEN 'processing'
    WHEN EXISTS (SELECT 1 FROM deliveries d WHERE d.seq = l.seq AND d.state IN ('waiting', 'held')) THEN 'pending'
    WHEN EXISTS (SELECT 1 FROM routes r JOIN subscriptions s ON s.id = r.subscription
                 WHERE r.type = l.type AND s.cursor < l.seq AND l.due_at IS NULL
                   AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.subscription = s.id AND d.seq = l.seq)) THEN 'pending'
    WHEN EXISTS (SELECT 1 FROM deliveries d WHERE d.seq = l.seq AND d.state = 'dead') THEN 'dlq'
    ELSE 'done'
  END AS status,
  coalesce((SELECT max(n) FROM (
     SELECT count(*) AS n FROM attempts a LEFT JOIN outcomes o ON o.seq = a.seq AND o.subscription = a.subscription
     WHERE a.seq = l.seq AND a.n > coalesce(o.history, 0) GROUP BY a.subscription)), 0) AS retry_count,
  (SELECT nullif(json_group_array(error), '[]') FROM (
     SELECT a.error FROM attempts a LEFT JOIN outcomes o ON o.seq = a.seq AND o.subscription = a.subscription
     WHERE a.seq = l.seq AND a.n > coalesce(o.history, 0) ORDER BY a.ended_at, a.subscription, a.n)) AS last_error,
  l.metadata,
  strftime('%Y-%m-%dT%H:%M:%fZ', l.created_at / 1e6, 'unixepoch') AS created_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', max(l.created_at,
     coalesce((SELECT max(a.ended_at) FROM attempts a WHERE a.seq = l.seq), 0),
     coalesce((SELECT max(o.at) FROM outcomes o WHERE o.seq = l.seq), 0),
     coalesce((SELECT max(d.dead_at) FROM deliveries d WHERE d.seq = l.seq), 0),
     coalesce((SELECT max(x.at) FROM discarded x WHERE x.seq = l.seq), 0)) / 1e6, 'unixepoch') AS updated_at
FROM log l JOIN types t ON t.id = l.type
WHERE t.name NOT LIKE '$%'; -- those are the bus's own

CREATE VIEW event_subscriptions AS
SELECT
  s.name AS id,
  s.pattern AS event_type,
  strftime('%Y-%m-%dT%H:%M:%fZ', s.created_at / 1e6, 'unixepoch') AS created_at
FROM subscriptions s;

ALTER TABLE discarded ADD COLUMN dead_at INTEGER;
ALTER TABLE discarded ADD COLUMN dead_reason TEXT;
ALTER TABLE discarded ADD COLUMN fingerprint TEXT;
ALTER TABLE discarded ADD COLUMN failures INTEGER;
ALTER TABLE discarded ADD COLUMN progress TEXT;
ALTER TABLE discarded ADD COLUMN redriven INTEGER;

CREATE TABLE cancelled (
  seq          INTEGER NOT NULL,
  subscription INTEGER NOT NULL,
  reason       TEXT    NOT NULL,
  at           INTEGER NOT NULL,
  PRIMARY KEY (seq, subscription)
) WITHOUT ROWID;

ALTER TABLE pauses ADD COLUMN actor TEXT;
ALTER TABLE pauses ADD COLUMN reason TEXT;

CREATE TABLE audit_deliveries (
  seq          INTEGER NOT NULL,
  subscription INTEGER NOT NULL,
  audit        INTEGER NOT NULL REFERENCES audit (id),
  PRIMARY KEY (seq, subscription, audit)
) WITHOUT ROWID;

CREATE INDEX audit_deliveries_audit ON audit_deliveries (audit);

ALTER TABLE deliveries ADD COLUMN uncounted INTEGER NOT NULL DEFAULT 0;
ALTER TABLE deliveries ADD COLUMN max_attempts INTEGER;
ALTER TABLE deliveries ADD COLUMN suspect INTEGER NOT NULL DEFAULT 0;

CREATE TABLE crashes (
  seq          INTEGER NOT NULL,
  subscription INTEGER NOT NULL,
  at           INTEGER NOT NULL,
  counted      INTEGER NOT NULL,
  PRIMARY KEY (seq, subscription, at)
) WITHOUT ROWID;

CREATE INDEX crashes_at ON crashes (at);

UPDATE deliveries SET suspect = 1 WHERE crashed <> 0 OR reason = 'crash';

CREATE TABLE schemas (
  type      INTEGER PRIMARY KEY REFERENCES types (id),
  schema    TEXT    NOT NULL,
  stored_at INTEGER NOT NULL,
  program   TEXT    NOT NULL
);
