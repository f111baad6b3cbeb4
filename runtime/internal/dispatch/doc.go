// Package dispatch runs handlers. It takes deliveries from an
// [engine.Consumer], decides what runs when, and turns what a handler did into
// a disposition.
//
// A [Scheduler] has as many workers as its concurrency. A worker is a goroutine
// that takes the next delivery from the [queue], runs the handler itself, and
// settles the delivery ([attempt]). Nothing is handed from goroutine to
// goroutine while all goes well. When a handler outlives its deadline, its worker
// is written off and another takes its place, so a handler that hangs costs a
// goroutine and nothing else.
//
// A handler that waits for another event ([Attempt.Await]) lends its place and its
// partition key to the deliveries of that event, and a guest takes them: waiting.go.
//
// The package knows nothing of payload types, and nothing of how events are
// stored.
package dispatch
