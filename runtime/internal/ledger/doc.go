// Package ledger says what happens to a delivery: when its handler's turn ends, when the process dies, and when an
// operator changes something. It is the page docs/semantics.md in Go. The engines keep the rows, each in its own way;
// what is in them is decided here.
//
// All engines and ephemeral subscriptions ask this package.
//
// A function takes what is known of a delivery and one input. It returns what the delivery is then, and in [Effects] what
// the engine has to do besides, in the same transaction. Nothing here reads a clock or a file, takes a lock, or remembers
// anything, so every rule can be read, and tested, alone.
//
// # The life of a delivery
//
//	on its way ──▶ Waiting ◀──▶ Held         open: it will be handed to its handler
//	                  │   ▲
//	     ┌────────────┼───┴── begins anew ◀── Revive, Restore
//	     ▼            ▼            │
//	   Done         Dead ──▶ Discarded       settled: it will not come again by itself
//
// A delivery on its way has no row: it was polled from the log, or is yet to be. Most deliveries never get a row. A
// handler that succeeds at once moves the cursor of its subscription, and nobody calls this package. A row is what is kept
// of all others.
//
// # Where to read
//
//	row.go        what is kept: Delivery, which every polled delivery has, and Row, with what operators need
//	turn.go       how a turn ends: After; what a stored step changes: Stored
//	crash.go      what the death of the process means: Judge says who ran, Crash what that makes of each
//	operators.go  Cancel, Discard, Restore, Revive, Replay, Edit, Import, Purge, Erase
//	time.go       what time and other programs do to a row that waits
//
// # Two counts
//
// Failures counts attempts that failed. When it reaches max_attempts the delivery is dead. Uncounted counts executions that
// may have happened and count against nothing: a snooze, a shutdown, a crash while others ran too. Number, which handlers
// see as Event.Attempt, is one more than both. It never falls, except by a replay, a purge and an edit, which begin another life.
//
// To begin anew means: due now, with a fresh count. What was a failure is uncounted from then on, and the attempts stay on
// record as history. A retry of a dead letter begins anew, and so does the undo of a cancel or of a discard.
//
// # Suspicion
//
// A handler that ran when its process died may have caused it. Its delivery is a suspect: it runs alone, or in a half
// of its batch, until it is known which one it was. Suspicion ends by nothing but a turn in which the handler was called
// and ended otherwise. A crash counts as a failed attempt only for a handler that ran alone; then the first crash that
// it shared with others counts, too.
//
// # What is decided elsewhere
//
// Which disposition ends a turn (another attempt, a dead letter, a snooze) is decided by package dispatch: it has the
// policy, the expiry and the limits. The engine decides whether a delivery needs a row at all, and when a row that says
// nothing any more is deleted. It also counts the executions that a claim knows of and the row does not.
//
// # Steps
//
// A handler can store what it has done, step by step. A stored step is progress: [Delivery.Stored] sets Failures to 0 and
// ends suspicion. A handler that waits in a step is suspended: its delivery waits for a time of the wall clock, and counts
// neither an attempt nor a snooze. Each replay begins the next run, which has no steps.
//
// # What will come
//
// An awaited event makes a suspended delivery due.
package ledger
