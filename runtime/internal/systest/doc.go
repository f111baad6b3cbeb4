// Package systest tests a whole bus on SQLite: its files, disks, locks and processes,
// and several programs at once. It has tests only.
//
// Some of them start the test binary again as a child process and kill it
// (crash_test.go). Others damage files (attack_corrupt_test.go), fill a small disk
// (smalldisk_linux_test.go), or draw what happens from a seed, which a failure prints
// (programs_test.go).
//
// What a bus does on any engine is tested by runtime/internal/conformance, whose
// fixtures these tests use.
package systest
