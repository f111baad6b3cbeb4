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

CREATE TABLE busgen_migrations (
  name     TEXT    PRIMARY KEY,
  checksum TEXT    NOT NULL,
  at       INTEGER NOT NULL
) WITHOUT ROWID;

CREATE VIEW outbox (type, payload, metadata, dedupe_key, delay_ms) AS
SELECT NULL, NULL, NULL, NULL, NULL WHERE 0;

CREATE TRIGGER outbox_insert INSTEAD OF INSERT ON outbox BEGIN
  SELECT json_extract('{}', 'outbox: ' || CASE
    WHEN typeof(NEW.type) <> 'text' OR NEW.type LIKE '$%' OR NOT EXISTS (SELECT 1 FROM types WHERE written = NEW.type)
      THEN 'there is no event type "' || coalesce(NEW.type, 'NULL') || '" in this file, which has: ' || coalesce((SELECT group_concat(name, ', ')
        FROM (SELECT DISTINCT name FROM types WHERE name NOT LIKE '$%' ORDER BY name LIMIT 20)), 'none')
    WHEN NEW.payload IS NULL OR typeof(NEW.payload) <> 'text' OR instr(NEW.payload, char(0)) OR NOT json_valid(NEW.payload)
      THEN 'the payload of ' || NEW.type || ' is not a text of JSON'
    WHEN json_type(NEW.payload) <> 'object' AND EXISTS (SELECT 1 FROM schemas s JOIN types t ON t.id = s.type WHERE t.written = NEW.type)
      THEN 'the payload of ' || NEW.type || ' is not a JSON object'
    WHEN NEW.dedupe_key IS NOT NULL AND (typeof(NEW.dedupe_key) <> 'text' OR NOT length(CAST(NEW.dedupe_key AS BLOB)) BETWEEN 1 AND 200)
      THEN 'the dedupe_key of ' || NEW.type || ' is not a text of 1 to 200 bytes'
    WHEN NEW.delay_ms IS NOT NULL AND (typeof(NEW.delay_ms) NOT IN ('integer', 'real')
        OR NOT NEW.delay_ms BETWEEN 0 AND 253402300799999 - (julianday('now') - 2440587.5) * 86400000)
      THEN 'the delay_ms of ' || NEW.type || ' is not a number of milliseconds from 0 that ends before the year 10000'
    WHEN NEW.metadata IS NULL THEN NULL
    WHEN typeof(NEW.metadata) <> 'text' OR instr(NEW.metadata, char(0)) OR NOT json_valid(NEW.metadata)
      THEN 'the metadata of ' || NEW.type || ' is not a text of JSON'
    WHEN json_type(NEW.metadata) <> 'object' OR EXISTS (SELECT 1 FROM json_each(NEW.metadata) WHERE type <> 'text')
      THEN 'the metadata of ' || NEW.type || ' is not a JSON object of texts'
    WHEN EXISTS (SELECT 1 FROM json_each(NEW.metadata) GROUP BY key HAVING count(*) > 1)
      THEN 'the metadata of ' || NEW.type || ' has a key twice'
    WHEN EXISTS (SELECT 1 FROM json_each(NEW.metadata) WHERE key IN ('parent_id', 'published_by', 'hops') OR substr(key, 1, 7) = 'busgen.')
      THEN 'the metadata of ' || NEW.type || ' has a key that only the bus writes: parent_id, published_by, hops, or one that begins with busgen.'
  END);

  DELETE FROM dedupe WHERE NEW.dedupe_key IS NOT NULL AND (type, key) IN (
    SELECT type, key FROM dedupe WHERE expires_at <= CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 ORDER BY expires_at LIMIT 8);
  DELETE FROM dedupe WHERE key = NEW.dedupe_key AND expires_at <= CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000
    AND type IN (SELECT id FROM types WHERE name = (SELECT name FROM types WHERE written = NEW.type));
  SELECT json_extract('{}', 'outbox: the dedupe_key "' || NEW.dedupe_key || '" of ' || NEW.type || ' was used for another payload')
  FROM dedupe d JOIN types t ON t.id = d.type JOIN log l ON l.seq = d.seq
  WHERE t.name = (SELECT name FROM types WHERE written = NEW.type) AND d.key = NEW.dedupe_key
    AND t.version = (SELECT max(version) FROM types WHERE written = NEW.type)
    AND CASE WHEN json_valid(l.payload) THEN json(l.payload) ELSE l.payload END <> json(NEW.payload);
  SELECT RAISE(IGNORE)
  FROM dedupe d JOIN types t ON t.id = d.type
  WHERE t.name = (SELECT name FROM types WHERE written = NEW.type) AND d.key = NEW.dedupe_key;

  INSERT INTO log (id, type, payload, metadata, created_at, due_at)
  SELECT
    CAST(substr(bytes, 1 + (ms >> 40 & 255), 1) || substr(bytes, 1 + (ms >> 32 & 255), 1) || substr(bytes, 1 + (ms >> 24 & 255), 1)
      || substr(bytes, 1 + (ms >> 16 & 255), 1) || substr(bytes, 1 + (ms >> 8 & 255), 1) || substr(bytes, 1 + (ms & 255), 1)
      || substr(bytes, 1 + (112 + (random() & 15)), 1) || randomblob(1)
      || substr(bytes, 1 + (128 + (random() & 63)), 1) || randomblob(7) AS BLOB),
    (SELECT id FROM types WHERE written = NEW.type ORDER BY version DESC LIMIT 1),
    NEW.payload,
    (SELECT nullif(json_group_object(key, value), '{}') FROM (SELECT key, value FROM json_each(NEW.metadata) ORDER BY key)),
    ms * 1000,
    ms * 1000 + nullif(CAST(NEW.delay_ms * 1000 AS INTEGER), 0)
  FROM (
    SELECT CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) AS ms, CAST(
      x'000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f' ||
      x'404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f606162636465666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f' ||
      x'808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9fa0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebf' ||
      x'c0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff' AS BLOB) AS bytes);
  INSERT INTO deliveries (subscription, seq, state, failures, due_at)
  SELECT r.subscription, l.seq, 'waiting', 0, l.due_at FROM log l JOIN routes r ON r.type = l.type
  WHERE l.seq = (SELECT max(seq) FROM log) AND l.due_at IS NOT NULL;
  INSERT INTO dedupe (type, key, seq, id, digest, expires_at)
  SELECT type, NEW.dedupe_key, seq, id, x'', created_at + 86400000000 FROM log
  WHERE seq = (SELECT max(seq) FROM log) AND NEW.dedupe_key IS NOT NULL;
END;
