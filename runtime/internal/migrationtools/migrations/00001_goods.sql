-- +goose Up
CREATE TABLE goods (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
INSERT INTO goods (name) VALUES ('tea');
-- +goose Down
DROP TABLE goods;
