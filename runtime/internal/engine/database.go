package engine

import (
	"context"
	"database/sql/driver"
)

// Database is a log whose file has tables, which programs use through database/sql. An engine
// that has no tables does not implement it.
type Database interface {
	// Connector returns what opens connections to the file. They end with the log: what is
	// asked of them after that, and of the connector, returns over. adopting is called with the contexts of
	// statements, and returns what is to be done with events that they publish, as Transaction.Adopt; or nil.
	Connector(over error, adopting func(ctx context.Context) func(r *Record) error) driver.Connector
}
