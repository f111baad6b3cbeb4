// Package buslog is the engine on NATS JetStream: it implements engine.Log and engine.Inspection on one stream.
//
// # The records
//
// Subjects begin with the name of the stream (subjects.go has all of them):
//
//	e.SLOT.TYPE  an event; its headers have id, type, version, times, metadata, key (events.go); the body is the payload
//	n            the registry: types, subscriptions, pauses, in one record, so that a writer of a part has seen all of it
//	c.SUB        the cursor of a subscription: its owner, what is settled, which handlers run; or that it is divided
//	c.SUB.N      the cursor of a part of a subscription that is divided
//	d.SUB.SEQ    the row of a delivery that did not simply go well: it waits, is held, dead, discarded, or was done late
//	k.HASH       an idempotency key
//	r.SUB.SEQ    a wish to have a delivery cancelled, until the owner has answered
//	a, s, t, l, v, q  the audit, schemas, schedules, rates of limits, what processes show, requests of operators
//	b.PROCESS    the suspects of a crash whose handlers the process has called
//	p, h         the events that were pruned just now, and how many were before
//	m            how far a move from a file has come
//	o            the processes that share subscriptions
//	i            how far the messages of the inbox were taken in
//
// All but events replace the record of their subject (roll-up), under the condition that its sequence number is the one
// that the writer has seen.
//
// # The layers
//
// A [Log] is built of layers. Each is a type that embeds the one below, owns its fields, says what guards them, and
// knows nothing of those above. There is one lock: the mu of logView guards the records, and what the layers above keep
// beside them, units included. Callers of a function that touches these, and does not take mu, hold mu: a test follows
// all calls. A method belongs to the layer of its receiver, wherever its file is listed.
//
// [conn] is the stream, and whether the log is open. It has no records.
//
//	conn.go           errors, patience, whether storing works, what a refusal of the servers means
//	events.go         events as messages, and the subjects of all messages
//	sizes.go          how large they may be, and how full the stream may be
//	records.go        the records
//
// [logView] is what the stream says, up to a message, with the one lock of the records. It tells the [listener] of a
// subscription what has changed. [reader] reads what is not in memory.
//
//	view.go, apply.go   everything but the events, and how it follows from the messages
//	rows.go, wholerows.go  the rows: as records, when they are due, what of them is in memory, and how the rest is read
//	parts.go          the parts of a subscription, and its cursors
//	clock.go          due times, and steps of the wall clock
//	pages.go, ahead.go  events: the newest are in memory; older ones are read ahead, or in pages
//	find.go, meter.go   finds events, and counts them
//
// [follower] keeps the view up with the stream, and notices what is wrong with it. It has the [teller] of pauses.
//
//	following.go      what it follows: a process that only publishes is not sent the events; and waiting for what arrives
//	foreign.go        messages under the subjects that are none of the bus
//	replaced.go, deleted.go  notice that the stream, or a record, is not what it was
//	half.go           deletes half of a batch, which a power cut has left
//	stale.go          notices that a replica does not send what is stored, and that no leader answers
//
// [editor] changes records. [publisher] appends events.
//
//	editor.go         changes of single records, one at a time in each process; the audit
//	registry.go, subscriptions.go  types and subscriptions
//	pause.go          pauses, and what processes and operators tell each other
//	schedules.go      schedules and rates
//	append.go, keys.go  publishing, and what to do when the server does not answer; idempotency keys
//	inbox.go          takes in what others have sent
//
// [handled] are the subscriptions that this process handles, each a [unit] with its [consumer]. A unit is built like a
// log: [shares], what it has of the subscription; [storing], what it is about to store; [reading], what it hands out
// next; [claims], which handlers run.
//
//	unit.go           a unit and its parts
//	consumer.go       the feed: hands out the rows that are due, and then the log in order
//	flights.go        what was handed out and is not stored
//	claims.go, called.go  which handlers run
//	shortcut.go         the short way on which the workers of busy subscriptions say so
//	dispositions.go   how a delivery has ended, and the row that says so
//	plan.go, commit.go  the batch that stores that, one at a time for each subscription
//	share.go          what this process has of a subscription
//	parking.go        the deliveries that wait in waitlists
//
// [cluster] knows which processes are alive, and which has what.
//
//	liveness.go, itself.go  which are alive, and when to look; whether this process does anything for what it has
//	fence.go, recover.go  which process handles a subscription; what ran when one died
//	members.go        what each process should have
//
// [Log] is the assembly: what it takes to implement [engine.Log]. An [Inspection] is a log for an operator.
//
//	log.go            opening and closing
//	cancel.go         cancelling and discarding
//	wait.go, watch.go   waiting for outcomes, and following events
//	prune.go, maintain.go  deletes what is not needed; checks, redrives, removes
//	stalled.go        parts that stand still
//	inspect*.go, rates.go, edit.go  what operators see and do
//	arrive*.go        a bus that comes from a file: its records are written here, and no log is open meanwhile
//
// # The rules
//
// The view changes only by messages of the stream, in their order, and those of a batch together. A process learns that
// its own batch is stored when its cursor arrives. So there is one way by which state changes, whichever process has
// changed it, and a lost answer of the server needs no decision: the cursor comes, or it does not.
//
// A process that takes a subscription over makes its cursor from the one in the view, and the server refuses it unless
// that is the last one. The rows of a cursor come before it in the stream: a view that has the last cursor has
// everything that its owner has stored. This is the fence, and it is why rows and cursors must come through the same
// reader.
package buslog
