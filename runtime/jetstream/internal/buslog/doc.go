// Package buslog is the engine on NATS JetStream: it implements engine.Log and
// engine.Inspection on one stream.
//
// # The records
//
// Subjects begin with the name of the stream (subjects.go has all of them):
//
//	e.SLOT.TYPE  an event; its headers have id, type, version, times, metadata, key (events.go); the body is the payload
//	n            the registry: types, subscriptions, pauses, in one record, so that whoever changes a part has seen all of it
//	c.SUB        the cursor of a subscription: who handles it, what is settled, which handlers run; or that it is divided
//	c.SUB.N      the cursor of a part of a subscription that is divided
//	d.SUB.SEQ    the row of a delivery that did not simply go well: it waits, is held, dead, discarded, or was done late
//	k.HASH       an idempotency key
//	r.SUB.SEQ    somebody's wish to have a delivery cancelled, until the owner has answered
//	a, s, t, l, v, q  the audit, schemas, schedules, rates of limits, what processes show, requests of operators
//	b.PROCESS    the suspects of a crash whose handlers the process has called
//	p, h         the events that were pruned just now, and how many were before
//	m            how far a move from a file has come
//	o            the processes that share subscriptions
//	i            how far the messages of the inbox were taken in
//
// All but events replace the record of their subject (roll-up), under the condition that its
// sequence number is the one that the writer has seen.
//
// # The storeys
//
// A [Log] is built of types that stand on each other. Each owns its fields, says what guards them, and knows only those below it:
//
//   - [conn]: the stream, and whether the log is open. It has no records.
//   - [logView]: what the stream says, up to a message, with the one lock of the records. It tells the [listener] of a
//     subscription what has changed.
//   - [reader]: reads what is not in memory.
//   - [follower]: keeps the view up with the stream, and notices what is wrong with it. It has the [teller] of pauses.
//   - [editor]: changes records.
//   - [publisher]: appends events.
//   - [handled]: the subscriptions that this process handles, each a [unit] with its [consumer].
//   - [cluster]: who is alive, and who has what.
//   - [Log]: the assembly: what it takes to implement [engine.Log]. An [Inspection] is a log for an operator.
//
// # The rooms
//
//	log.go, reached.go, view.go  an open log. It follows the stream, and keeps a view of it: everything but the events, up to one message
//	following.go      what it follows: a process that only publishes is not sent the events
//	ring.go           the newest events, which are in memory
//	ahead.go, pages.go  older ones: for subscriptions that lag they are read ahead, else in pages
//	meter.go          counts
//	foreign.go        messages under the subjects that are none of the bus
//	replaced.go, deleted.go  notice that the stream, or a record, is not what it was
//	itself.go         notices that this process does nothing for what it has
//	leader.go         notices that no leader answers
//	half.go           deletes half of a batch, which a power cut has left
//	stale.go          notices that a replica does not send what is stored
//	prune.go, pruned.go  deletes what nobody needs, and what others have to know of it
//	tidy.go           deletes what a server that was killed may have left of a row
//	wholerows.go      what is in memory of rows, and how the rest is read
//	joined.go         keys of several publishers in one batch
//	append.go         publishing, idempotency keys, and what to do when the server does not answer
//	registry.go       types and subscriptions
//	refusal.go        what a refusal of the servers means, and what to do about it
//	turns.go          changes of single records, one at a time in each process
//	consumer.go       the feed: hands out the rows that are due, and then the log in order
//	flights.go        what was handed out and is not stored
//	claims.go, called.go  which handlers run
//	lane.go           the short way on which the workers of busy subscriptions say so
//	verdict.go        how a delivery has ended, and the row that says so
//	clock.go          due times, and steps of the wall clock
//	commit.go, plan.go   the batch that stores verdicts, one at a time for each subscription
//	fence.go, claimed.go, recover.go  which process handles a subscription; what ran when one died
//	liveness.go       who is alive, and when to look
//	parts.go, divide.go   the parts of a subscription, and its cursors
//	newer.go              who should have events of a version that not all processes know
//	inbox.go, sent.go     takes in what others have sent
//	share.go, members.go  what this process has of them, and what it should have
//	cancel.go         cancelling and discarding
//	unit.go           a subscription that this process handles: what ties the rooms together
//	inspect*.go       what operators see and do
//	arrive*.go        a bus that comes from a file: its records are written here, and no log is open meanwhile
//
// # The rules
//
// The view changes only by messages of the stream, in their order, and those of a batch
// together. A process learns that its own batch is stored when its cursor arrives. So there is
// one way by which state changes, whoever has changed it, and an answer of the server that is
// lost needs no decision: the cursor comes, or it does not.
//
// Who takes a subscription over makes its cursor from the one in the view, and the server
// refuses it unless that is the last one. The rows of a cursor come before it in the stream: a
// view that has the last cursor has everything that its owner has stored. This is the fence, and
// it is why rows and cursors must come through the same reader.
package buslog
