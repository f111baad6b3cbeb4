-- What version 7 adds to version 6; schema.sql explains it: dedupe keys are compared by value and freed, and outbox
-- works with PRAGMA trusted_schema=OFF.

DROP TRIGGER busgen_outbox;

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
