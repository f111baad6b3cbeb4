-- What version 5 adds to version 4; schema.sql explains it.
CREATE INDEX log_parent ON log (substr(metadata, instr(metadata, '"parent_id":"') + 13, 36))
  WHERE instr(metadata, '"parent_id":"') > 0;

ALTER TABLE deliveries ADD COLUMN replayed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE discarded ADD COLUMN replayed INTEGER;

ALTER TABLE cancelled ADD COLUMN answer INTEGER;
