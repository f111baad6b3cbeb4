// Package simfs is a file layer for SQLite that lives in memory and lies on
// request: it loses power, fills up and returns errors. Tests open a database
// through it to see what remains.
//
// # What a disk remembers
//
// A write is not durable until it is synced. Each file therefore has its
// contents as the process sees them, and beside that what the disk is sure to
// keep and the list of changes since ([disk]). The same goes for names: a file
// that was created or deleted may be seen or not after a power cut, until a
// sync makes sure ([folder]).
//
// # Power cuts
//
// [FS.CutAfter] ends the power at a chosen operation; that one and everything
// later fails. [FS.Crash] then says what the disk may hold: what was synced,
// and of each later change all, nothing or some of its 512-byte sectors, as a
// seed decides. [FS.Kill] is the milder end: the process dies, the operating
// system lives, and everything written is there. Both return an [Image] that
// [New] takes.
//
// # Faults
//
// [FS.Fail] makes a chosen operation fail, once or until [FS.Heal].
//
// # What is real
//
// The index of a write-ahead log is shared memory between connections, and
// comes from the driver: it needs a small real file, in the folder given to
// [New]. It takes no part in what survives. Its locks are not seen here either;
// to be refused by a lock, open another connection and take it.
package simfs
