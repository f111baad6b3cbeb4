// Package sqlite keeps the event log in one SQLite file: the first [engine.Log].
//
// # The shape of the file
//
// tables/schema.sql is the place to start. Events are rows of a log that are written
// once. A delivery that goes well costs no row at all: each subscription has a
// cursor, and everything at or below it is settled. Only exceptions have a row
// of their own: a delivery that waits for a retry, one that is dead, and one
// whose handler is still running while the cursor has already passed it.
//
// # One writer
//
// All writes of a bus go through one connection ([writer]). Transactions run one at a
// time, on the writer's goroutine or, for a lone publisher, on the publisher's. Each
// takes everything that is queued and wakes everyone who waits for it. While one
// transaction syncs, the next group gathers, which makes 128 publishers twenty times as
// fast as one. Transactions with new events are synced to disk
// (synchronous=FULL); those with dispositions only are left to the operating
// system, which keeps them when the process dies, and reach the disk with the
// next event.
//
// # Reading
//
// A consumer ([consumer]) reads the newest events from memory ([tail]) and
// falls back to pages of the log when it lags behind, so memory is bounded
// whatever the backlog.
//
// # Who runs what
//
// Beside the file lies another one, named like it with -claims at the end ([claims.File]). It
// says which event each worker is busy with. After a crash exactly those events are
// suspects: if there was one, the crash counts as an attempt of it; if there were several,
// it counts for none of them yet. The file may be deleted while nothing runs. A lock on
// the database itself ([locks.LockOwner]) says which process dispatches. The operating system
// drops it with that process.
//
// # The parts of a Log
//
// Each is a type that owns its fields, and says in its declaration what guards them. A part uses what stands above it
// in this list.
//
//   - [ground]: what all parts share: names, types, the newest events, the connection that reads, what has become of
//     the log. The [gate] in it lets one write who is in this process.
//   - [writer]: who waits for a transaction, and when it runs. [batch] is the transaction at hand.
//   - [consumers]: the subscriptions that this process has, each a [consumer]. Cancelling is theirs, too.
//   - [lookout] and [files]: what other processes write, and whether the file is still the one that was opened.
//   - [pauses] and [activity]: what operators want, and are shown.
//   - [owner]: the right to dispatch, and what happens when the log is another one, or another's.
//   - [relay] and [programs]: functions of the program within the writer's transaction, and connections of its own.
//   - [agenda]: what happens in a transaction, for the writer.
//   - [observer], [joiner], [upkeep]: what the methods of [Log] need that have no state, or their own.
//
// An [Inspection] is none of them: it is a connection of its own for an operator, whose mu lets one read or change at a
// time, and knows nothing of a Log in the same process. The newest events ([tail]) have a lock of their own.
//
// The writer's turn is a token: whoever has it uses the connection that writes, and what belongs to the turn. Locks are
// taken in this order: the turn, the token of the connection that reads, the mu of consumers, of a consumer, of the
// writer.
//
// # The rooms below
//
// Below this package is what is about the file and not about events: its connection
// (database), its names (file), its locks (locks), what its workers are busy with (claims)
// and its errors (fault). Package tables knows the schema, and reads and writes rows.
package sqlite
