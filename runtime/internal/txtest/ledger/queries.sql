-- name: OpenAccount :one
INSERT INTO accounts (owner, balance) VALUES (?, ?) RETURNING *;

-- name: Account :one
SELECT * FROM accounts WHERE id = ?;

-- name: Withdraw :execrows
UPDATE accounts SET balance = balance - sqlc.arg(amount), changed_at = sqlc.arg(at) WHERE id = sqlc.arg(id) AND balance >= sqlc.arg(amount);

-- name: PlaceOrder :exec
INSERT INTO orders (id, account, total, express, note) VALUES (?, ?, ?, ?, ?);

-- name: OrdersOf :many
SELECT o.*, a.owner FROM orders o JOIN accounts a ON a.id = o.account WHERE a.id = ? ORDER BY o.id;

-- name: OrdersWith :many
SELECT id, total FROM orders WHERE id IN (sqlc.slice(ids)) ORDER BY id;

-- name: Turnover :one
SELECT count(*) AS orders, CAST(coalesce(sum(total), 0) AS INTEGER) AS total FROM orders;
