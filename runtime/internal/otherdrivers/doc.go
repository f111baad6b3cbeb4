// Package otherdrivers tests a bus beside a program with another SQLite library. It is a module of
// its own, because the module of the bus must not need those libraries.
//
// The program is in the folder child. It is a process of its own: two SQLite libraries that have
// the same file open in one process can damage it.
package otherdrivers
