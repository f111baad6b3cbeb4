-- What customers have paid, and what they got back.
CREATE TABLE ledger (
  event     TEXT    PRIMARY KEY, -- that was handled: of an order, or of a refund
  order_id  TEXT    NOT NULL,
  cents     INTEGER NOT NULL,    -- negative for a refund
  reference TEXT    NOT NULL
);

CREATE INDEX ledger_order ON ledger (order_id);
