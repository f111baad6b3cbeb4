// Package dispatch runs handlers. It takes deliveries from an [engine.Consumer], decides what runs when, and turns what
// a handler did into a disposition.
//
// A [Scheduler] has as many workers as its concurrency. A worker is a goroutine that takes the next delivery from the
// [queue], runs the handler itself, and settles the delivery ([attempt]). Nothing is handed from goroutine to goroutine
// while all goes well. When a handler outlives its deadline, its worker is written off and another takes its place, so
// a handler that hangs costs a goroutine and nothing else.
//
// The parts of a Scheduler, from the ground: each is a type that owns its fields, and says in its declaration what
// guards them. A part uses only what stands above it in this list.
//
//   - package queue: what was polled and has not begun; it decides nothing.
//   - [core]: what all parts share: the configuration, the queue, the signal for the worker that waits.
//   - [gate]: what holds a whole subscription or an event type, and suspects that run alone ([Alone]).
//   - [limits]: what a delivery needs of the limits of the bus.
//   - [settler]: hands dispositions to the engine.
//   - [site]: all that an attempt may touch: the above, the [places] that are lent, the [crew] of workers, and the
//     [deadlines] of what runs. [run], [Attempt] and [Batch] stand here.
//   - [intake]: polls deliveries into the queue, with their keys. It belongs to who has the turn.
//   - [chooser] and [gatherer]: decide what begins next, alone or in a batch.
//   - [Scheduler]: puts them together, starts and stops them.
//
// Three rules say what code may touch. What decides what begins belongs to who has the turn. A handler and the way to
// it belong to a worker. What becomes of an attempt (its disposition, and all that leads to it: judge, fail, snooze,
// settle) is decided under the mu of the attempt, by its worker or by the deadline, whoever is first. The queue,
// [Alone], [Waits], places, crew and deadlines have locks of their own. The order in which one goroutine may take them
// stands in package lockorder, and tests check it: attempt, places, [Waits], [Alone], crew, deadlines, queue, and the
// limits of package limit.
//
// A handler that waits for another event ([Attempt.Await]) lends its place and its partition key to the deliveries of
// that event, and a guest takes them: waiting.go.
//
// The package knows nothing of payload types, and nothing of how events are stored.
package dispatch
