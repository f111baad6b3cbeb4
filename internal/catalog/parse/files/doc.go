// Package files reads the files that make up a catalogue. [Parts] owns what is included, and the Go package of each
// file; [Imports] owns the catalogues whose types can be used. How an imported catalogue is read is a function that
// package parse hands in.
package files
