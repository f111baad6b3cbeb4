// Package memview has what engines do with events, rows and pauses that they keep in memory, and
// an engine with tables does in SQL: choose by a filter, cut pages, and find out which types are
// paused or wanted, by whatever names they have had. It knows no engine. [engine] cannot have it,
// because typenames imports that.
package memview
