package postgres

import (
	"context"
	"database/sql"
	"reflect"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/busgen/busgen/runtime/postgres/internal/operate"
)

// querier runs statements on a database or in a transaction. Arguments are texts, numbers, lists of them and nil, which
// all modes of pgx understand: statements say what the types are.
type querier operate.Query

// querierOf returns the querier of a [DB] or a transaction, or nil if it is neither.
func querierOf(on any) querier {
	if v := reflect.ValueOf(on); v.Kind() == reflect.Pointer && v.IsNil() {
		return nil
	}
	switch on := on.(type) {
	case *pgxpool.Pool:
		return querier(operate.Reading(on.Query))
	case pgx.Tx:
		return querier(operate.Reading(on.Query))
	case *sql.DB:
		return querier(operate.Reading(on.QueryContext))
	case *sql.Tx:
		return querier(operate.Reading(on.QueryContext))
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
