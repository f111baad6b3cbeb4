CREATE SCHEMA IF NOT EXISTS busgen;

-- Events that are committed, and that the relay has not brought to the bus yet. A number is drawn when a row is inserted,
-- after the locks that the program has taken: so the rows of transactions that wait for each other are in their order.
CREATE TABLE busgen.outbox (
  seq        bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id         uuid        NOT NULL, -- of the event, for ever
  type       text        NOT NULL,
  version    int         NOT NULL, -- of the payload
  payload    text        NOT NULL, -- JSON as the publisher has encoded it
  metadata   text,                 -- a JSON object of texts
  dedupe     text,                 -- an idempotency key, as JSON
  due_at     timestamptz,          -- of a delayed event
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 100, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);

-- What the relay has brought, with the option KeepRelayed, which makes a part for each day.
CREATE TABLE busgen.relayed (
  seq        bigint      NOT NULL,
  id         uuid        NOT NULL,
  type       text        NOT NULL,
  version    int         NOT NULL,
  payload    text        NOT NULL,
  metadata   text,
  dedupe     text,
  due_at     timestamptz,
  created_at timestamptz NOT NULL,
  relayed_at timestamptz NOT NULL DEFAULT clock_timestamp()
) PARTITION BY RANGE (relayed_at);

-- Which process relays, until when, and to which bus.
CREATE TABLE busgen.relay (
  one   boolean     PRIMARY KEY DEFAULT true CHECK (one),
  owner uuid,
  bus   text,
  until timestamptz NOT NULL DEFAULT '-infinity'
) WITH (fillfactor = 50);

INSERT INTO busgen.relay DEFAULT VALUES;

-- Subscriptions whose handlers have their transactions here, and since when.
CREATE TABLE busgen.subscriptions (
  id    int         GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name  text        NOT NULL UNIQUE,
  since timestamptz NOT NULL DEFAULT now()
);

-- Which events they have handled. A mark is inserted in the transaction of the handler, and is also the lock that keeps two
-- attempts at an event apart. The run of a replay is when it began, in microseconds, else 0. The relay deletes marks that are a week old, unless the bus has yet to
-- settle the event, or has it as a dead letter.
CREATE TABLE busgen.inbox (
  subscription int         NOT NULL,
  event        uuid        NOT NULL,
  run          bigint      NOT NULL,
  at           timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (subscription, event, run)
) WITH (autovacuum_vacuum_insert_scale_factor = 0.05);

CREATE INDEX inbox_at ON busgen.inbox USING brin (at);

CREATE TABLE busgen.version (version int NOT NULL);

INSERT INTO busgen.version VALUES (1);
