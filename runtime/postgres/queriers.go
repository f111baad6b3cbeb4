package postgres

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Arguments are texts, numbers and nil only, which all drivers and all their modes understand: statements say what
// the types are.

// ofPgx is a querier on a pool, a connection or a transaction of pgx.
type ofPgx struct {
	on interface {
		Exec(ctx context.Context, statement string, args ...any) (pgconn.CommandTag, error)
		Query(ctx context.Context, statement string, args ...any) (pgx.Rows, error)
		Begin(ctx context.Context) (pgx.Tx, error)
	}
	turn chan struct{} // of a single connection, which has one user at a time; nil for none
}

// take waits for the connection.
func (q ofPgx) take(ctx context.Context) (give func(), err error) {
	if q.turn == nil {
		return func() {}, nil
	}
	select {
	case q.turn <- struct{}{}:
		return func() { <-q.turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (q ofPgx) exec(ctx context.Context, statement string, args ...any) error {
	give, err := q.take(ctx)
	if err != nil {
		return err
	}
	defer give()
	_, err = q.on.Exec(ctx, statement, args...)
	return err
}

func (q ofPgx) query(ctx context.Context, each func(scan func(into ...any) error) error, statement string, args ...any) error {
	give, err := q.take(ctx)
	if err != nil {
		return err
	}
	defer give()
	rows, err := q.on.Query(ctx, statement, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := each(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (q ofPgx) within(ctx context.Context, f func(q querier) error) error {
	give, err := q.take(ctx)
	if err != nil {
		return err
	}
	defer give()
	return pgx.BeginFunc(ctx, q.on, func(tx pgx.Tx) error { return f(ofPgx{tx, nil}) })
}

// ofSQL is a querier of database/sql.
type ofSQL struct {
	on interface {
		ExecContext(ctx context.Context, statement string, args ...any) (sql.Result, error)
		QueryContext(ctx context.Context, statement string, args ...any) (*sql.Rows, error)
	}
	db *sql.DB // nil for a transaction
}

func (q ofSQL) exec(ctx context.Context, statement string, args ...any) error {
	_, err := q.on.ExecContext(ctx, statement, args...)
	return err
}

func (q ofSQL) query(ctx context.Context, each func(scan func(into ...any) error) error, statement string, args ...any) error {
	rows, err := q.on.QueryContext(ctx, statement, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := each(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (q ofSQL) within(ctx context.Context, f func(q querier) error) error {
	tx, err := q.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := f(ofSQL{tx, nil}); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}
