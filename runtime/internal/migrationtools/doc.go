// Package migrationtools tests tools that make and change the tables of a program, in the file of a bus: goose and
// golang-migrate, over [runtime.DB]. It is a module of its own, because the module of the bus must not need them.
//
// goose.go is the recipe of docs/transactions.md, word for word.
package migrationtools
