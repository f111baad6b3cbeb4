// Package sqlapi gives programs SQLite connections of this module through database/sql.
//
// The driver's own package for that registers the name sqlite3 with database/sql, and a
// program that also uses another SQLite driver of that name would panic when it starts. So
// this package has what database/sql needs, and registers nothing.
//
// A [Shared] is a connection that others use, too. A [Session] is the time during which a
// program may use it through database/sql. Statements stay prepared from one session to the
// next. A [Guard] refuses what a program must not do: write to the tables of the bus, or end a
// transaction that is not its own.
//
// Values are stored and read as the driver's own package does it. A time.Time is stored as
// text in the format of RFC 3339. A value of a column declared as DATE, TIME, DATETIME or
// TIMESTAMP is read as a time.Time, and one declared as BOOLEAN as a bool.
package sqlapi
