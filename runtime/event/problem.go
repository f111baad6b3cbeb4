package event

// Problem is a rule that the file breaks, with how often and a few samples.
type Problem struct {
	// Rule is what is broken: integrity (the pages and indexes are sound),
	// reference (no row points to one that is missing), cursor (no cursor
	// stands beyond the log), above (no delivery above a cursor has a row,
	// except those of delayed events), state (what waits has a due time, what
	// is dead has a time and a reason), route (the routes are those of the
	// patterns), foreign (no table of another program refers to one of the bus,
	// and no trigger and index of another program is on one), program (in tables
	// of the program each row is in its indexes, and has a value where it must).
	Rule    string   `json:"rule"`
	Count   int      `json:"count"`
	Samples []string `json:"samples"` // a few of them
}
