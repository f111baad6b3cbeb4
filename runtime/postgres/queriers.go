package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"reflect"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// querier runs a statement on a database or in a transaction, and calls each for each row; each is nil for a statement that
// returns none. Arguments are texts, numbers, lists of them and nil, which all modes of pgx understand: statements say what
// the types are.
type querier func(ctx context.Context, each func(scan func(into ...any) error) error, statement string, args ...any) error

// querierOf returns the querier of a [DB] or a transaction, or nil if it is neither.
func querierOf(on any) querier {
	if v := reflect.ValueOf(on); v.Kind() == reflect.Pointer && v.IsNil() {
		return nil
	}
	switch on := on.(type) {
	case *pgxpool.Pool:
		return reading(on.Query)
	case pgx.Tx:
		return reading(on.Query)
	case *sql.DB:
		return reading(on.QueryContext)
	case *sql.Tx:
		return reading(on.QueryContext)
	}
	return nil
}

func (q querier) exec(ctx context.Context, statement string, args ...any) error {
	return q(ctx, nil, statement, args...)
}

// one reads the row of a statement that returns one.
func (q querier) one(ctx context.Context, into any, statement string, args ...any) error {
	return q(ctx, func(scan func(into ...any) error) error { return scan(into) }, statement, args...)
}

// rows are those of pgx or of database/sql, which close when there is no next one.
type rows interface {
	Next() bool
	Scan(into ...any) error
	Err() error
}

func reading[R rows](query func(ctx context.Context, statement string, args ...any) (R, error)) querier {
	return func(ctx context.Context, each func(scan func(into ...any) error) error, statement string, args ...any) error {
		rows, err := query(ctx, statement, args...)
		if err != nil {
			return err
		}
		for rows.Next() {
			if each != nil && err == nil {
				err = each(rows.Scan)
			}
		}
		return cmp.Or(err, rows.Err())
	}
}
