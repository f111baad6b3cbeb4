-- What customers have ordered. A row is stored together with its event order.placed.
CREATE TABLE orders (
  id       TEXT    PRIMARY KEY,
  number   INTEGER NOT NULL UNIQUE,
  customer TEXT    NOT NULL,
  cents    INTEGER NOT NULL
);
