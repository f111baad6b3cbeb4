-- What version 6 adds to version 5; schema.sql explains it. The tables and indexes of the bus get the
-- prefix busgen_, so that the tables of the program beside them can have any other name.

DROP VIEW events;
DROP VIEW dead_letters;
DROP VIEW event_subscriptions;

DROP INDEX types_name;
DROP INDEX log_due;
DROP INDEX log_parent;
DROP INDEX dedupe_expires;
DROP INDEX routes_subscription;
DROP INDEX deliveries_open;
DROP INDEX deliveries_dead;
DROP INDEX deliveries_kind;
DROP INDEX deliveries_seq;
DROP INDEX deliveries_snoozed;
DROP INDEX crashes_at;
DROP INDEX origins_parent;
DROP INDEX audit_event;
DROP INDEX audit_deliveries_audit;

ALTER TABLE identity RENAME TO busgen_identity;
ALTER TABLE types RENAME TO busgen_types;
ALTER TABLE schemas RENAME TO busgen_schemas;
ALTER TABLE log RENAME TO busgen_log;
ALTER TABLE dedupe RENAME TO busgen_dedupe;
ALTER TABLE subscriptions RENAME TO busgen_subscriptions;
ALTER TABLE former_names RENAME TO busgen_former_names;
ALTER TABLE routes RENAME TO busgen_routes;
ALTER TABLE deliveries RENAME TO busgen_deliveries;
ALTER TABLE discarded RENAME TO busgen_discarded;
ALTER TABLE cancelled RENAME TO busgen_cancelled;
ALTER TABLE attempts RENAME TO busgen_attempts;
ALTER TABLE outcomes RENAME TO busgen_outcomes;
ALTER TABLE crashes RENAME TO busgen_crashes;
ALTER TABLE origins RENAME TO busgen_origins;
ALTER TABLE pauses RENAME TO busgen_pauses;
ALTER TABLE audit RENAME TO busgen_audit;
ALTER TABLE audit_deliveries RENAME TO busgen_audit_deliveries;
ALTER TABLE breakers RENAME TO busgen_breakers;
ALTER TABLE breaker_requests RENAME TO busgen_breaker_requests;
ALTER TABLE running RENAME TO busgen_running;
ALTER TABLE unhandled RENAME TO busgen_unhandled;
ALTER TABLE owner RENAME TO busgen_owner;

ALTER TABLE busgen_attempts ADD COLUMN log TEXT;

CREATE TABLE busgen_schedules (
  name   TEXT    PRIMARY KEY,
  type   TEXT    NOT NULL,
  rule   TEXT    NOT NULL,
  since  INTEGER NOT NULL,
  passed INTEGER NOT NULL,
  event  BLOB,
  at     INTEGER
) WITHOUT ROWID;

CREATE TABLE busgen_saturated (
  subscription TEXT PRIMARY KEY
) WITHOUT ROWID;

CREATE TABLE busgen_limits (
  name    TEXT    NOT NULL,
  key     TEXT    NOT NULL,
  full_at INTEGER NOT NULL,
  step    INTEGER NOT NULL,
  span    INTEGER NOT NULL,
  since   INTEGER NOT NULL,
  PRIMARY KEY (name, key)
) WITHOUT ROWID;

CREATE TABLE busgen_limits_clock (
  one  INTEGER PRIMARY KEY CHECK (one = 1),
  now  INTEGER NOT NULL,
  wall INTEGER NOT NULL
);

CREATE INDEX busgen_types_name ON busgen_types (name);
CREATE INDEX busgen_log_due ON busgen_log (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX busgen_log_parent ON busgen_log (substr(metadata, instr(metadata, ',"parent_id":"') + 14, 36))
  WHERE instr(metadata, ',"parent_id":"') > 0;
CREATE INDEX busgen_dedupe_expires ON busgen_dedupe (expires_at);
CREATE INDEX busgen_routes_subscription ON busgen_routes (subscription);
CREATE INDEX busgen_deliveries_open ON busgen_deliveries (subscription, due_at) WHERE state <> 'dead';
CREATE INDEX busgen_deliveries_dead ON busgen_deliveries (dead_at, subscription, seq) WHERE state = 'dead';
CREATE INDEX busgen_deliveries_kind ON busgen_deliveries (fingerprint, dead_at) WHERE state = 'dead';
CREATE INDEX busgen_deliveries_seq  ON busgen_deliveries (seq);
CREATE INDEX busgen_deliveries_snoozed ON busgen_deliveries (snoozes) WHERE snoozes > 0;
CREATE INDEX busgen_crashes_at ON busgen_crashes (at);
CREATE INDEX busgen_origins_parent ON busgen_origins (parent);
CREATE INDEX busgen_audit_event ON busgen_audit (event) WHERE event IS NOT NULL;
CREATE INDEX busgen_audit_deliveries_audit ON busgen_audit_deliveries (audit);
CREATE INDEX busgen_limits_full ON busgen_limits (full_at);

CREATE VIEW events AS
SELECT
  lower(substr(hex(l.id), 1, 8) || '-' || substr(hex(l.id), 9, 4) || '-' || substr(hex(l.id), 13, 4) || '-' ||
        substr(hex(l.id), 17, 4) || '-' || substr(hex(l.id), 21)) AS id,
  t.name AS type,
  l.payload,
  CASE
    WHEN EXISTS (SELECT 1 FROM busgen_deliveries d WHERE d.seq = l.seq AND d.state = 'running') THEN 'processing'
    WHEN EXISTS (SELECT 1 FROM busgen_deliveries d WHERE d.seq = l.seq AND d.state IN ('waiting', 'held')) THEN 'pending'
    WHEN EXISTS (SELECT 1 FROM busgen_routes r JOIN busgen_subscriptions s ON s.id = r.subscription
                 WHERE r.type = l.type AND s.cursor < l.seq AND l.due_at IS NULL
                   AND NOT EXISTS (SELECT 1 FROM busgen_deliveries d WHERE d.subscription = s.id AND d.seq = l.seq)) THEN 'pending'
    WHEN EXISTS (SELECT 1 FROM busgen_deliveries d WHERE d.seq = l.seq AND d.state = 'dead') THEN 'dlq'
    ELSE 'done'
  END AS status,
  coalesce((SELECT max(n) FROM (
     SELECT count(*) AS n FROM busgen_attempts a LEFT JOIN busgen_outcomes o ON o.seq = a.seq AND o.subscription = a.subscription
     WHERE a.seq = l.seq AND a.n > coalesce(o.history, 0) GROUP BY a.subscription)), 0) AS retry_count,
  (SELECT nullif(json_group_array(error), '[]') FROM (
     SELECT a.error FROM busgen_attempts a LEFT JOIN busgen_outcomes o ON o.seq = a.seq AND o.subscription = a.subscription
     WHERE a.seq = l.seq AND a.n > coalesce(o.history, 0) ORDER BY a.ended_at, a.subscription, a.n)) AS last_error,
  l.metadata,
  strftime('%Y-%m-%dT%H:%M:%fZ', l.created_at / 1e6, 'unixepoch') AS created_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', max(l.created_at,
     coalesce((SELECT max(a.ended_at) FROM busgen_attempts a WHERE a.seq = l.seq), 0),
     coalesce((SELECT max(o.at) FROM busgen_outcomes o WHERE o.seq = l.seq), 0),
     coalesce((SELECT max(d.dead_at) FROM busgen_deliveries d WHERE d.seq = l.seq), 0),
     coalesce((SELECT max(x.at) FROM busgen_discarded x WHERE x.seq = l.seq), 0)) / 1e6, 'unixepoch') AS updated_at
FROM busgen_log l JOIN busgen_types t ON t.id = l.type
WHERE t.name NOT LIKE '$%';

CREATE VIEW dead_letters AS
SELECT
  lower(substr(hex(l.id), 1, 8) || '-' || substr(hex(l.id), 9, 4) || '-' || substr(hex(l.id), 13, 4) || '-' ||
        substr(hex(l.id), 17, 4) || '-' || substr(hex(l.id), 21)) AS event_id,
  t.name AS type,
  s.name AS subscription,
  d.reason,
  d.failures AS attempts,
  (SELECT a.error FROM busgen_attempts a WHERE a.seq = d.seq AND a.subscription = d.subscription ORDER BY a.n DESC LIMIT 1) AS last_error,
  (SELECT json_group_array(error)
     FROM (SELECT error FROM busgen_attempts a WHERE a.seq = d.seq AND a.subscription = d.subscription ORDER BY a.n)) AS errors,
  l.payload,
  strftime('%Y-%m-%dT%H:%M:%fZ', l.created_at / 1e6, 'unixepoch') AS created_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', d.dead_at / 1e6, 'unixepoch') AS dead_at
FROM busgen_deliveries d
JOIN busgen_log l ON l.seq = d.seq
JOIN busgen_types t ON t.id = l.type
JOIN busgen_subscriptions s ON s.id = d.subscription
WHERE d.state = 'dead'
ORDER BY d.dead_at DESC, d.seq DESC;

CREATE VIEW event_subscriptions AS
SELECT
  s.name AS id,
  s.pattern AS event_type,
  strftime('%Y-%m-%dT%H:%M:%fZ', s.created_at / 1e6, 'unixepoch') AS created_at
FROM busgen_subscriptions s;

CREATE VIEW outbox (type, payload, metadata, dedupe_key, delay_ms) AS
SELECT NULL, NULL, NULL, NULL, NULL WHERE 0;

CREATE TRIGGER busgen_outbox INSTEAD OF INSERT ON outbox BEGIN
  SELECT 1 FROM json_each('{}', 'outbox: ' || CASE
    WHEN typeof(NEW.type) <> 'text' OR NEW.type LIKE '$%' OR NOT EXISTS (SELECT 1 FROM busgen_types WHERE written = NEW.type)
      THEN 'there is no event type "' || coalesce(NEW.type, 'NULL') || '" in this file, which has: ' || coalesce((SELECT group_concat(name, ', ')
        FROM (SELECT DISTINCT name FROM busgen_types WHERE name NOT LIKE '$%' ORDER BY name LIMIT 20)), 'none')
    WHEN length(CAST(NEW.payload AS BLOB)) > 67108864 OR length(CAST(NEW.metadata AS BLOB)) > 1048576
      THEN 'an event has at most 64 MiB of payload and 1 MiB of metadata, and this one of ' || NEW.type || ' has more'
    WHEN NEW.payload IS NULL OR typeof(NEW.payload) <> 'text' OR instr(NEW.payload, char(0))
      THEN 'the payload of ' || NEW.type || ' is not a text of JSON'
    WHEN (SELECT type FROM json_tree(NEW.payload) LIMIT 1) <> 'object' AND EXISTS (SELECT 1 FROM busgen_schemas s JOIN busgen_types t ON t.id = s.type WHERE t.written = NEW.type)
      THEN 'the payload of ' || NEW.type || ' is not a JSON object'
    WHEN NEW.dedupe_key IS NOT NULL AND (typeof(NEW.dedupe_key) <> 'text' OR NOT length(CAST(NEW.dedupe_key AS BLOB)) BETWEEN 1 AND 200)
      THEN 'the dedupe_key of ' || NEW.type || ' is not a text of 1 to 200 bytes'
    WHEN NEW.delay_ms IS NOT NULL AND (typeof(NEW.delay_ms) NOT IN ('integer', 'real')
        OR NOT NEW.delay_ms BETWEEN 0 AND 253402300799999 - (julianday('now') - 2440587.5) * 86400000)
      THEN 'the delay_ms of ' || NEW.type || ' is not a number of milliseconds from 0 that ends before the year 10000'
    WHEN NEW.metadata IS NULL THEN NULL
    WHEN typeof(NEW.metadata) <> 'text' OR instr(NEW.metadata, char(0)) OR instr(CAST(NEW.metadata AS BLOB), x'fe') OR instr(CAST(NEW.metadata AS BLOB), x'ff')
      THEN 'the metadata of ' || NEW.type || ' is not a text of JSON'
    WHEN (SELECT type FROM json_tree(NEW.metadata) LIMIT 1) <> 'object' OR EXISTS (SELECT 1 FROM json_each(NEW.metadata) WHERE type <> 'text')
      THEN 'the metadata of ' || NEW.type || ' is not a JSON object of texts'
    WHEN EXISTS (SELECT 1 FROM json_each(NEW.metadata) WHERE instr(key || value, char(0))
        OR key || value GLOB '*[' || char(1) || '-' || char(8) || char(11) || char(12) || char(14) || '-' || char(31) || ']*')
      THEN 'the metadata of ' || NEW.type || ' has a control character that is neither a tab nor a line break'
    WHEN EXISTS (SELECT 1 FROM json_each(NEW.metadata) GROUP BY key HAVING count(*) > 1)
      THEN 'the metadata of ' || NEW.type || ' has a key twice'
    WHEN EXISTS (SELECT 1 FROM json_each(NEW.metadata) WHERE key IN ('parent_id', 'published_by', 'hops') OR substr(key, 1, 7) = 'busgen.')
      THEN 'the metadata of ' || NEW.type || ' has a key that only the bus writes: parent_id, published_by, hops, or one that begins with busgen.'
  END);

  DELETE FROM busgen_dedupe WHERE NEW.dedupe_key IS NOT NULL AND (type, key) IN (
    SELECT type, key FROM busgen_dedupe WHERE expires_at <= CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 ORDER BY expires_at LIMIT 8);
  DELETE FROM busgen_dedupe WHERE key = NEW.dedupe_key
    AND type IN (SELECT id FROM busgen_types WHERE name = (SELECT name FROM busgen_types WHERE written = NEW.type))
    AND (expires_at <= CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000
      OR EXISTS (SELECT 1 FROM busgen_cancelled x WHERE x.seq = busgen_dedupe.seq AND x.reason = 'cancelled' AND coalesce(x.answer, 1) <> 2)
      OR EXISTS (SELECT 1 FROM busgen_discarded x WHERE x.seq = busgen_dedupe.seq AND (x.reason = 'cancelled' OR x.dead_at IS NOT NULL)));
  SELECT (SELECT 1 FROM json_each('{}', 'outbox: the dedupe_key "' || NEW.dedupe_key || '" of ' || NEW.type || ' was used for another payload'))
  FROM busgen_dedupe d JOIN busgen_types t ON t.id = d.type JOIN busgen_log l ON l.seq = d.seq
  WHERE t.name = (SELECT name FROM busgen_types WHERE written = NEW.type) AND d.key = NEW.dedupe_key
    AND t.version = (SELECT max(version) FROM busgen_types WHERE written = NEW.type)
    AND l.payload <> NEW.payload AND ( -- the values count, not how they are written; beyond 2^53 SQLite does not know all digits
      EXISTS (SELECT fullkey, iif(type = 'real', 'integer', type), atom FROM json_tree(l.payload)
        EXCEPT SELECT fullkey, iif(type = 'real', 'integer', type), atom FROM json_tree(NEW.payload))
      OR EXISTS (SELECT fullkey, iif(type = 'real', 'integer', type), atom FROM json_tree(NEW.payload)
        EXCEPT SELECT fullkey, iif(type = 'real', 'integer', type), atom FROM json_tree(l.payload))
      OR EXISTS (SELECT 1 FROM json_tree(NEW.payload) WHERE typeof(atom) = 'real' AND abs(atom) >= 9007199254740992));
  SELECT RAISE(IGNORE)
  FROM busgen_dedupe d JOIN busgen_types t ON t.id = d.type
  WHERE t.name = (SELECT name FROM busgen_types WHERE written = NEW.type) AND d.key = NEW.dedupe_key;

  INSERT INTO busgen_log (id, type, payload, metadata, created_at, due_at)
  SELECT
    CAST(substr(bytes, 1 + (ms >> 40 & 255), 1) || substr(bytes, 1 + (ms >> 32 & 255), 1) || substr(bytes, 1 + (ms >> 24 & 255), 1)
      || substr(bytes, 1 + (ms >> 16 & 255), 1) || substr(bytes, 1 + (ms >> 8 & 255), 1) || substr(bytes, 1 + (ms & 255), 1)
      || substr(bytes, 1 + (112 + (random() & 15)), 1) || randomblob(1)
      || substr(bytes, 1 + (128 + (random() & 63)), 1) || randomblob(7) AS BLOB),
    (SELECT id FROM busgen_types WHERE written = NEW.type ORDER BY version DESC LIMIT 1),
    NEW.payload,
    (SELECT '{"' || replace(replace(replace(replace(replace(replace(replace(
        group_concat(key || CAST(x'fe' AS TEXT) || value, CAST(x'ff' AS TEXT)),
        '\', '\\'), '"', '\"'), char(9), '\t'), char(10), '\n'), char(13), '\r'), CAST(x'fe' AS TEXT), '":"'), CAST(x'ff' AS TEXT), '","') || '"}'
      FROM (SELECT key, value FROM json_each(NEW.metadata) ORDER BY key)),
    ms * 1000,
    ms * 1000 + nullif(CAST(NEW.delay_ms * 1000 AS INTEGER), 0)
  FROM (
    SELECT CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) AS ms, CAST(
      x'000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f' ||
      x'404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f606162636465666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f' ||
      x'808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9fa0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebf' ||
      x'c0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff' AS BLOB) AS bytes);
  INSERT INTO busgen_deliveries (subscription, seq, state, failures, due_at)
  SELECT r.subscription, l.seq, 'waiting', 0, l.due_at FROM busgen_log l JOIN busgen_routes r ON r.type = l.type
  WHERE l.seq = (SELECT max(seq) FROM busgen_log) AND l.due_at IS NOT NULL;
  INSERT INTO busgen_dedupe (type, key, seq, id, digest, expires_at)
  SELECT type, NEW.dedupe_key, seq, id, x'', created_at + 86400000000 FROM busgen_log
  WHERE seq = (SELECT max(seq) FROM busgen_log) AND NEW.dedupe_key IS NOT NULL;
END;
