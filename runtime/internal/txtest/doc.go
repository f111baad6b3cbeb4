// Package txtest tests transactions of programs on the file of a bus, as programs use them.
package txtest
