-- What customers have ordered. A row is stored together with its event order.placed.
CREATE TABLE IF NOT EXISTS orders (
  id       TEXT    PRIMARY KEY,
  number   INTEGER NOT NULL UNIQUE,
  customer TEXT    NOT NULL,
  cents    INTEGER NOT NULL
);

-- What customers have paid, and what they got back.
CREATE TABLE IF NOT EXISTS ledger (
  event     TEXT    PRIMARY KEY, -- that was handled: of an order, or of a refund
  order_id  TEXT    NOT NULL,
  cents     INTEGER NOT NULL,    -- negative for a refund
  reference TEXT    NOT NULL
);

CREATE INDEX IF NOT EXISTS ledger_order ON ledger (order_id);

-- What is reserved at suppliers, by order.
CREATE TABLE IF NOT EXISTS reservations (
  order_id TEXT    PRIMARY KEY,
  article  TEXT    NOT NULL,
  quantity INTEGER NOT NULL
);
