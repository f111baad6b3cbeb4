package engine

import "database/sql/driver"

// Database is a log whose file has tables, which programs use through database/sql. An engine
// that has no tables does not implement it.
type Database interface {
	// Connector returns what opens connections to the file. They end with the log: what is
	// asked of them after that, and of the connector, returns over.
	Connector(over error) driver.Connector
}
