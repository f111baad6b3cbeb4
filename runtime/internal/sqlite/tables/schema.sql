-- The tables are busgen's own business and may change with user_version; the
-- views events, dead_letters, event_subscriptions and outbox are the public face of the file.
-- All other names begin with busgen_, so that a program can have tables of its own beside
-- them. Comments leave the prefix out.
-- Times are integers, microseconds since 1970-01-01 UTC.

-- Which log this is: a random number that the file keeps for life, so that a
-- program notices when another file has taken its place.
CREATE TABLE busgen_identity (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  log BLOB    NOT NULL
);

INSERT INTO busgen_identity (one, log) VALUES (1, randomblob(16));

-- Event types by number: a log row carries four bytes instead of a name and a
-- version. Rows of the same name are one type: the versions of its payload, and
-- what it was called before. Names that begin with $ are the bus's own:
-- $dead.order.placed announces a dead letter of order.placed. No glob matches them.
CREATE TABLE busgen_types (
  id      INTEGER PRIMARY KEY,
  name    TEXT    NOT NULL, -- what it is called today
  written TEXT    NOT NULL, -- what it was called when the events of this row were published
  version INTEGER NOT NULL, -- of their payloads
  UNIQUE (written, version)
);

CREATE INDEX busgen_types_name ON busgen_types (name);

-- What a payload of a type and version looks like, and those of the versions before
-- it that can be read, as the program knew that opened the file last. busgen checks
-- corrected payloads with it. Types without generated code have no row.
CREATE TABLE busgen_schemas (
  type      INTEGER PRIMARY KEY REFERENCES busgen_types (id),
  schema    TEXT    NOT NULL, -- one line of JSON
  stored_at INTEGER NOT NULL, -- when it last changed
  program   TEXT    NOT NULL  -- that stored it then
);

-- The log. A row is written once and never updated. seq is the order of
-- delivery; ids are UUIDv7, so their index grows at its end only.
CREATE TABLE busgen_log (
  seq        INTEGER PRIMARY KEY,
  id         BLOB    NOT NULL UNIQUE,
  type       INTEGER NOT NULL REFERENCES busgen_types (id),
  payload    TEXT    NOT NULL,
  metadata   TEXT,
  created_at INTEGER NOT NULL,
  due_at     INTEGER           -- of a delayed event; it has a waiting delivery for each subscription
);

CREATE INDEX busgen_log_due ON busgen_log (due_at) WHERE due_at IS NOT NULL;

-- The children of an event: those that its handlers published, which have its id as
-- parent_id in their metadata. The bus writes metadata without spaces, its keys sorted,
-- and with a key before this one. Within a text of JSON a quote has a backslash, so a
-- comma and a quote begin a key: these functions find what ->> would, whatever the keys
-- of publishers are. They know no invalid JSON, and each SQLite shell has them. Events
-- without metadata cost nothing.
CREATE INDEX busgen_log_parent ON busgen_log (substr(metadata, instr(metadata, ',"parent_id":"') + 14, 36))
  WHERE instr(metadata, ',"parent_id":"') > 0;

-- Idempotency keys of published events, for as long as they are remembered.
CREATE TABLE busgen_dedupe (
  type       INTEGER NOT NULL REFERENCES busgen_types (id),
  key        TEXT    NOT NULL,
  seq        INTEGER NOT NULL,
  id         BLOB    NOT NULL, -- of the event
  digest     BLOB    NOT NULL, -- of its payload; empty for an event of outbox, whose payload is in log
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (type, key)
) WITHOUT ROWID;

CREATE INDEX busgen_dedupe_expires ON busgen_dedupe (expires_at);

-- Durable consumers. Every matching event up to and including cursor is
-- settled, unless deliveries has a row that says otherwise. Events up to and
-- including start are older than the subscription and never meant for it. Up
-- to redelivered an event may have been handled by a process that died before
-- it could say so. pattern is one glob over event types, or several with spaces
-- between them.
CREATE TABLE busgen_subscriptions (
  id          INTEGER PRIMARY KEY,
  name        TEXT    NOT NULL UNIQUE,
  pattern     TEXT    NOT NULL,
  start       INTEGER NOT NULL,
  cursor      INTEGER NOT NULL,
  redelivered INTEGER NOT NULL DEFAULT 0,
  created_at  INTEGER NOT NULL,
  strict      INTEGER NOT NULL DEFAULT 0 -- nothing goes ahead of others in it
);

-- Names that subscriptions had before. A program that knows such a name only
-- finds its subscription by it.
CREATE TABLE busgen_former_names (
  name         TEXT    PRIMARY KEY,
  subscription INTEGER NOT NULL REFERENCES busgen_subscriptions (id)
) WITHOUT ROWID;

-- Which types match which subscription's pattern, so that SQL can ask. When a pattern
-- is replaced, the routes to types that the new one does not match stay as former
-- ones until a process takes over. It gives the events that the subscription has not
-- settled a row in deliveries, because no poll of the log finds them any more.
CREATE TABLE busgen_routes (
  type         INTEGER NOT NULL REFERENCES busgen_types (id),
  subscription INTEGER NOT NULL REFERENCES busgen_subscriptions (id),
  former       INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (type, subscription)
) WITHOUT ROWID;

CREATE INDEX busgen_routes_subscription ON busgen_routes (subscription);

-- The exceptions: deliveries that did not simply go well.
--   running  a handler was at work when the cursor passed it
--   waiting  failed or put off, to be tried at due_at
--   held     its event type is paused, or it waits in its waitlist
--   dead     given up, for an operator to look at
-- A row is removed when its delivery is done or discarded.
CREATE TABLE busgen_deliveries (
  subscription INTEGER NOT NULL REFERENCES busgen_subscriptions (id),
  seq          INTEGER NOT NULL REFERENCES busgen_log (seq),
  state        TEXT    NOT NULL CHECK (state IN ('running', 'waiting', 'held', 'dead')),
  failures     INTEGER NOT NULL, -- attempts that count since it was new or last retried
  crashed      INTEGER NOT NULL DEFAULT 0, -- the last attempt ended with the process
  due_at       INTEGER,          -- of a waiting one; 0 for one that was not put off; -2 for a critical one, and -1 for a high one, that goes ahead of the log
  dead_at      INTEGER,          -- of a dead one
  reason       TEXT,             -- of a dead one: max_attempts, permanent, decode, crash, expired; of an open one: when it was dead, before it was retried
  fingerprint  TEXT,             -- of a dead one: the same for failures of the same kind
  since        INTEGER,          -- when it began anew: was retried, replayed, or its discard undone; else it is as old as its event
  progress     TEXT,             -- of a group: which members have handled it
  redriven     INTEGER NOT NULL DEFAULT 0, -- how often it was retried automatically after it was dead
  wait         INTEGER,          -- of a waiting one that failed or was snoozed: how long it waits, from the moment of this row
  snoozes      INTEGER NOT NULL DEFAULT 0, -- how often its handler has snoozed it since it was new or last retried
  uncounted    INTEGER NOT NULL DEFAULT 0, -- executions that may have happened beside failures
  max_attempts INTEGER,          -- of the policy for the class of its last error; else the subscription's holds
  suspect      INTEGER NOT NULL DEFAULT 0, -- the process died while its handler ran; with so many such events it is in one batch, and nothing runs beside that
  replayed     INTEGER NOT NULL DEFAULT 0, -- an operator or the program replayed it: the subscription had handled it before
  waitlist     TEXT,             -- of one that waits for others: a limit, a partition key or another; a held one until it is freed
  key          TEXT,             -- of such a one: another waitlist that it holds up
  run          INTEGER NOT NULL DEFAULT 0, -- one more for each replay: it finds the steps of this run
  suspended    INTEGER NOT NULL DEFAULT 0, -- of a waiting one: its handler waits in a step until due_at, which is no retry
  undoing      INTEGER NOT NULL DEFAULT 0, -- 1: the steps of the run are to be undone, and its handler is called for that only
  PRIMARY KEY (subscription, seq)
) WITHOUT ROWID;

CREATE INDEX busgen_deliveries_open ON busgen_deliveries (subscription, due_at) WHERE state <> 'dead';
CREATE INDEX busgen_deliveries_dead ON busgen_deliveries (dead_at, subscription, seq) WHERE state = 'dead';
CREATE INDEX busgen_deliveries_kind ON busgen_deliveries (fingerprint, dead_at) WHERE state = 'dead';
CREATE INDEX busgen_deliveries_seq  ON busgen_deliveries (seq);
CREATE INDEX busgen_deliveries_waitlist ON busgen_deliveries (subscription, waitlist, seq) WHERE waitlist IS NOT NULL;
CREATE INDEX busgen_deliveries_key  ON busgen_deliveries (subscription, key, seq) WHERE key IS NOT NULL;
CREATE INDEX busgen_deliveries_snoozed ON busgen_deliveries (snoozes) WHERE snoozes > 0;

-- Deliveries of critical and high events that had a row from the beginning, because there was a backlog: polls of the log
-- pass them over. Kept until the cursor has passed.
CREATE TABLE busgen_express (
  subscription INTEGER NOT NULL,
  seq          INTEGER NOT NULL,
  PRIMARY KEY (subscription, seq)
) WITHOUT ROWID;

-- Deliveries that were settled without being handled, by a word of the handler
-- or of an operator. Kept as long as their event.
CREATE TABLE busgen_discarded (
  seq          INTEGER NOT NULL,
  subscription INTEGER NOT NULL,
  reason       TEXT    NOT NULL,
  at           INTEGER NOT NULL,
  -- The row it had in deliveries, so that an operator can undo the discard.
  dead_at      INTEGER, -- NULL if it was not dead
  dead_reason  TEXT,
  fingerprint  TEXT,
  failures     INTEGER, -- of one that was not dead: all executions that may have happened
  progress     TEXT,
  redriven     INTEGER,
  replayed     INTEGER,
  uncounted    INTEGER, -- of one that was dead
  suspect      INTEGER,
  run          INTEGER NOT NULL DEFAULT 0,
  undoing      INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (seq, subscription)
) WITHOUT ROWID;

-- Open deliveries that an operator has discarded, or a program cancelled, until the
-- dispatcher has settled them.
CREATE TABLE busgen_cancelled (
  seq          INTEGER NOT NULL,
  subscription INTEGER NOT NULL,
  reason       TEXT    NOT NULL,
  at           INTEGER NOT NULL,
  answer       INTEGER, -- of the dispatcher to who asks whether an attempt runs: 0 none yet, 1 no, 2 yes; NULL if nobody asks
  PRIMARY KEY (seq, subscription)
) WITHOUT ROWID;

-- Every failed attempt, kept as long as its event.
CREATE TABLE busgen_attempts (
  seq          INTEGER NOT NULL,
  subscription INTEGER NOT NULL,
  n            INTEGER NOT NULL, -- 1, 2, 3 … over the whole life of the delivery
  kind         TEXT    NOT NULL, -- error, panic, goexit, timeout, decode, crash, interrupted
  started_at   INTEGER,          -- unknown for a crash
  ended_at     INTEGER NOT NULL,
  error        TEXT    NOT NULL,
  error_type   TEXT,             -- the Go type of the error: *fs.PathError
  member       TEXT,             -- of a group: the member that failed
  stack        TEXT,
  log          TEXT,             -- what the attempt logged through its event's logger, the end of it
  PRIMARY KEY (seq, subscription, n)
) WITHOUT ROWID;

-- What handlers have done of deliveries, step by step. Kept as long as the event.
CREATE TABLE busgen_steps (
  seq          INTEGER NOT NULL,
  subscription INTEGER NOT NULL,
  run          INTEGER NOT NULL,
  member       TEXT    NOT NULL, -- of a group: the member whose step it is; else empty
  name         TEXT    NOT NULL,
  kind         TEXT    NOT NULL CHECK (kind IN ('do', 'tx', 'sleep', 'await', 'event', 'none', 'lost', 'undo')),
  result       TEXT,             -- JSON; of sleep and await when it ends; NULL for what could not be stored, which is lost
  shape        TEXT,             -- fields and types of result, one line
  undoes       INTEGER NOT NULL DEFAULT 0, -- 1: it has a function that undoes it; undo:<name> is the step that has done so
  attempt      INTEGER NOT NULL, -- that has stored it
  started_at   INTEGER NOT NULL,
  at           INTEGER NOT NULL,
  event        INTEGER,          -- of event: its place in the log, where it is kept as long as this row
  PRIMARY KEY (seq, subscription, run, member, name)
) WITHOUT ROWID;

CREATE INDEX busgen_steps_event ON busgen_steps (event) WHERE event IS NOT NULL;

-- What has become of deliveries that had failed: when they were last redriven or
-- handled after all. Kept as long as their event.
CREATE TABLE busgen_outcomes (
  seq          INTEGER NOT NULL,
  subscription INTEGER NOT NULL,
  history      INTEGER NOT NULL, -- attempts up to this number were made before the last redrive
  at           INTEGER NOT NULL,
  PRIMARY KEY (seq, subscription)
) WITHOUT ROWID;

-- Which handlers ran together when the process died: those with the same time.
-- Nobody knows which of them ended the process, so it counts as a failed attempt of
-- none, until one of them does it again while it runs alone.
CREATE TABLE busgen_crashes (
  seq          INTEGER NOT NULL,
  subscription INTEGER NOT NULL,
  at           INTEGER NOT NULL, -- when the next process noticed it
  counted      INTEGER NOT NULL, -- 1: it is on record as a failed attempt; 2: it will not be, because an earlier one is enough
  PRIMARY KEY (seq, subscription, at)
) WITHOUT ROWID;

CREATE INDEX busgen_crashes_at ON busgen_crashes (at);

-- Events that an operator has made from another one, with a corrected payload.
-- They are for the one subscription that had failed.
CREATE TABLE busgen_origins (
  seq          INTEGER PRIMARY KEY,
  parent       BLOB    NOT NULL, -- id of the event it was made from
  subscription INTEGER NOT NULL
);

CREATE INDEX busgen_origins_parent ON busgen_origins (parent);

-- Event types that deliveries can wait for by a key, and the fields of their payloads that
-- are the keys. The rows of event_keys are there for the events up to keyed; those behind it
-- are written when a process dispatches, and those that are there already stay.
CREATE TABLE busgen_awaited (
  id    INTEGER PRIMARY KEY,
  type  TEXT    UNIQUE,    -- what the type is called today; NULL for keys of a former field, which are being deleted
  field TEXT    NOT NULL,  -- its names in JSON, today's first, as a list in JSON
  keyed INTEGER NOT NULL
);

-- The keys of such events. A row goes with its event.
CREATE TABLE busgen_event_keys (
  type INTEGER NOT NULL REFERENCES busgen_awaited (id),
  key  TEXT    NOT NULL,
  seq  INTEGER NOT NULL,
  PRIMARY KEY (type, key, seq)
) WITHOUT ROWID;

CREATE INDEX busgen_event_keys_seq ON busgen_event_keys (seq);

-- Which deliveries wait for which events. The rows of a delivery go when it is woken, and as soon as it waits no
-- more for another reason.
CREATE TABLE busgen_waits (
  type         INTEGER NOT NULL REFERENCES busgen_awaited (id),
  key          TEXT    NOT NULL,
  subscription INTEGER NOT NULL,
  seq          INTEGER NOT NULL,            -- of the event that is delivered
  member       TEXT    NOT NULL DEFAULT '', -- of a group
  name         TEXT    NOT NULL,            -- of the step that waits
  after        INTEGER NOT NULL,            -- events behind this one count
  PRIMARY KEY (type, key, subscription, seq, member, name)
) WITHOUT ROWID;

CREATE INDEX busgen_waits_seq ON busgen_waits (seq, subscription);

CREATE TRIGGER busgen_waits_ended AFTER UPDATE OF suspended ON busgen_deliveries WHEN OLD.suspended BEGIN
  DELETE FROM busgen_waits WHERE seq = OLD.seq AND subscription = OLD.subscription;
END;

CREATE TRIGGER busgen_waits_gone AFTER DELETE ON busgen_deliveries WHEN OLD.suspended BEGIN
  DELETE FROM busgen_waits WHERE seq = OLD.seq AND subscription = OLD.subscription;
END;

-- What is not delivered at the moment: a subscription by its name, or event
-- types by a glob.
CREATE TABLE busgen_pauses (
  kind   TEXT    NOT NULL CHECK (kind IN ('subscription', 'type')),
  target TEXT    NOT NULL,
  key    TEXT    NOT NULL DEFAULT '', -- of the deliveries of a subscription; empty for all of them
  since  INTEGER NOT NULL,
  actor  TEXT,             -- who made it: user@host, or the name of a program
  reason TEXT,             -- in words
  PRIMARY KEY (kind, target, key)
) WITHOUT ROWID;

-- What operators have done. Kept for as long as the file.
CREATE TABLE busgen_audit (
  id           INTEGER PRIMARY KEY,
  at           INTEGER NOT NULL,
  actor        TEXT    NOT NULL, -- who: user@host, or the name of a program
  action       TEXT    NOT NULL, -- retry, edit, discard, cancel, undiscard, replay, rewind, purge, import, pause, resume, remove, rename, redrive, close breaker, erase
  event        BLOB,             -- id; NULL for an action on many
  subscription TEXT,
  count        INTEGER NOT NULL DEFAULT 1, -- how many deliveries it concerned
  detail       TEXT              -- in words: the filter, the reason
);

CREATE INDEX busgen_audit_event ON busgen_audit (event) WHERE event IS NOT NULL;

-- Which deliveries an action on many has changed. Kept as long as their events.
CREATE TABLE busgen_audit_deliveries (
  seq          INTEGER NOT NULL,
  subscription INTEGER NOT NULL,
  audit        INTEGER NOT NULL REFERENCES busgen_audit (id),
  PRIMARY KEY (seq, subscription, audit)
) WITHOUT ROWID;

CREATE INDEX busgen_audit_deliveries_audit ON busgen_audit_deliveries (audit);

-- Schedules of the catalogue: which of their times are over. Each time is published in
-- the transaction that moves passed, so it is published once.
CREATE TABLE busgen_schedules (
  name   TEXT    PRIMARY KEY,
  type   TEXT    NOT NULL, -- of the events
  rule   TEXT    NOT NULL, -- when, as the program knew it that opened the file last: one line of JSON
  since  INTEGER NOT NULL, -- when the schedule was first declared
  passed INTEGER NOT NULL, -- times up to this are published or skipped
  event  BLOB,             -- id of the last event; NULL for none
  at     INTEGER           -- the time of the schedule that it is for
) WITHOUT ROWID;

-- What the dispatching process says of itself in the next tables is for others to
-- see. It clears them when it ends, and so does the next one when it starts: after a
-- crash they are not true.

-- Circuit breakers that are not closed. Of a subscription with keys the first few.
CREATE TABLE busgen_breakers (
  subscription TEXT    NOT NULL, -- in a group the member
  key          TEXT    NOT NULL, -- empty for a breaker for all deliveries
  member_of    TEXT,             -- the group
  state        TEXT    NOT NULL CHECK (state IN ('open', 'half-open')),
  since        INTEGER NOT NULL, -- when it opened
  until        INTEGER,          -- of an open one: when the next event is tried
  failures     INTEGER NOT NULL,
  deliveries   INTEGER NOT NULL,
  last_error   TEXT    NOT NULL,
  more         INTEGER NOT NULL, -- how many other keys are not listed
  PRIMARY KEY (subscription, key)
) WITHOUT ROWID;

-- Operators' requests to close one, or with an empty key all of a subscription. Whoever asks waits for the answer, which is that
-- the row is gone, and takes the request back if none comes.
CREATE TABLE busgen_breaker_requests (
  subscription TEXT    NOT NULL,
  key          TEXT    NOT NULL,
  actor        TEXT    NOT NULL,
  at           INTEGER NOT NULL,
  PRIMARY KEY (subscription, key)
) WITHOUT ROWID;

-- Attempts that have been running for more than a second, and handlers that were left
-- behind because they ignored their deadline: their deliveries have moved on.
CREATE TABLE busgen_running (
  subscription TEXT    NOT NULL, -- in a group the member
  member_of    TEXT,
  worker       INTEGER NOT NULL,
  event        BLOB    NOT NULL, -- id
  type         TEXT    NOT NULL,
  attempt      INTEGER NOT NULL,
  started      INTEGER NOT NULL,
  deadline     INTEGER NOT NULL,
  abandoned    INTEGER NOT NULL, -- it was left behind
  limits       TEXT              -- JSON of the limits, with their keys, in which it has a place; NULL for none
);

-- Subscriptions with events to settle for which the process has no handler.
CREATE TABLE busgen_unhandled (
  subscription TEXT PRIMARY KEY
) WITHOUT ROWID;

-- Subscriptions whose handlers are busy all the time while their backlog grows, as the
-- process that dispatches saw it last.
CREATE TABLE busgen_saturated (
  subscription TEXT PRIMARY KEY
) WITHOUT ROWID;

-- What the rates of limits have used: the time when a bucket is full again, by the clock of
-- limits_clock. A row whose time is over says nothing, and is deleted sooner or later.
CREATE TABLE busgen_limits (
  name    TEXT    NOT NULL, -- of the limit
  key     TEXT    NOT NULL, -- the value that it is for; empty for none
  full_at INTEGER NOT NULL, -- in nanoseconds
  step    INTEGER NOT NULL, -- nanoseconds between two that begin: the numbers of the rate that all go by
  span    INTEGER NOT NULL, -- nanoseconds from empty to full
  since   INTEGER NOT NULL, -- when a process has begun with these numbers, by limits_clock
  PRIMARY KEY (name, key)
) WITHOUT ROWID;

CREATE INDEX busgen_limits_full ON busgen_limits (full_at);

-- The clock of the rates, in nanoseconds. It never goes back.
CREATE TABLE busgen_limits_clock (
  one  INTEGER PRIMARY KEY CHECK (one = 1),
  now  INTEGER NOT NULL,
  wall INTEGER NOT NULL -- what the wall clock said then
);

-- Who dispatches, for the error a second process gets.
CREATE TABLE busgen_owner (
  one   INTEGER PRIMARY KEY CHECK (one = 1),
  pid   INTEGER NOT NULL,
  since INTEGER NOT NULL
);

-- One line per event, with the state of its deliveries rolled up:
-- processing while a handler is known to run, pending while any subscription
-- has yet to settle it, dlq when one gave up, else done. retry_count is the largest
-- number of failed attempts of a subscription since its last redrive, last_error
-- the errors of all of them, and updated_at the last change that left a trace: a
-- success at the first attempt leaves none.
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
                   AND NOT EXISTS (SELECT 1 FROM busgen_express x WHERE x.subscription = s.id AND x.seq = l.seq)
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
WHERE t.name NOT LIKE '$%'; -- those are the bus's own

-- One line per dead delivery, newest first.
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

-- One line per durable subscription. The name is what identifies it; event_type
-- is one glob over event types, or several with spaces between them.
CREATE VIEW event_subscriptions AS
SELECT
  s.name AS id,
  s.pattern AS event_type,
  strftime('%Y-%m-%dT%H:%M:%fZ', s.created_at / 1e6, 'unixepoch') AS created_at
FROM busgen_subscriptions s;

-- How any program publishes that has the file open with SQLite, in its own transaction:
-- INSERT INTO outbox (type, payload) VALUES ('order.placed', '{…}'). There are no rows to
-- read. type is an event type of the file, and means its newest version, or a name that it had
-- before; metadata is a JSON object of texts. An event whose dedupe_key was used for the
-- type within 24 hours is not stored again; with another payload it is an error.
--
-- The trigger works with SQLite 3.34 and later, also with PRAGMA trusted_schema=OFF: there the
-- JSON functions of SQLite 3.38 to 3.40 may not be used, but json_each and json_tree may. Its
-- RAISE takes a fixed text there, so json_each says what is wrong: it fails with the text that
-- it is given for a path. What is no JSON is "malformed JSON". An id is UUIDv7. A byte is cut out
-- of all there are, because there is no other function that makes one.
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
