// Package examples holds a catalogue that a real shop could have, the Go package
// that busgen makes of it, and a program that sells things with it:
//
//	events.yaml  the catalogue; begin here, it explains itself
//	generated/   what busgen makes of it, as you would check it in
//	shop/        the program: go run ./examples/shop
//	recipes/     the programs of docs/recipes, with a smaller catalogue
//
// After an edit of events.yaml, run go generate in this folder. The command
// below runs the busgen that go.mod names as a tool, so everyone who works on a
// project generates with the same one.
package examples

//go:generate go tool busgen generate events.yaml --out generated
