-- +goose Up
CREATE TABLE shelf (goods INTEGER NOT NULL REFERENCES goods (id) ON DELETE CASCADE);
INSERT INTO shelf SELECT id FROM goods;
-- +goose StatementBegin
CREATE TRIGGER sold AFTER DELETE ON shelf BEGIN
  INSERT INTO outbox (type, payload) VALUES ('goods.sold', json_object('goods', OLD.goods));
END;
-- +goose StatementEnd
ALTER TABLE goods ADD COLUMN price INTEGER NOT NULL DEFAULT 5;
-- +goose Down
DROP TABLE shelf;
ALTER TABLE goods DROP COLUMN price;
