// Package simfs is a file layer for SQLite in memory that simulates faults: power
// cuts, full disks and errors. Tests open a database on it and check what remains.
//
// # What a disk remembers
//
// A write is durable only after a sync. So each file has the contents that the
// process sees, the contents that the disk is sure to keep, and the list of
// changes between them ([disk]). The same holds for names: whether a file that was
// created or deleted exists after a power cut is open until a sync ([folder]).
//
// # Power cuts
//
// [FS.CutAfter] cuts the power at a chosen operation: this one and all later ones
// fail. [FS.Crash] then returns what the disk may hold: everything that was synced,
// and all, nothing or some 512-byte sectors of each later change, as a seed decides.
// [FS.Kill] simulates a process that is killed while the operating system goes on:
// everything written is there. Both return an [Image] for [New].
//
// # Faults
//
// [FS.Fail] makes a chosen operation fail, once or until [FS.Heal].
//
// # What is real
//
// The index of a write-ahead log is memory that connections share. It comes from
// the driver and needs a small real file, in the folder given to [New]. It is no
// part of an Image. Faults do not apply to its locks: to test a held lock, take it
// with another connection.
package simfs
