// Package engine is the seam between the bus and whatever keeps its events.
//
// Above the seam live the decisions: retry policies, timeouts, panics,
// concurrency, payload types, observation. Below it lives the storage, which
// does three things:
//
//  1. it appends events to a log ([Appender]);
//  2. it hands out the deliveries of a subscription ([Source]);
//  3. it records the disposition of a delivery ([Settler]): done, retry at a
//     time, put off, discarded, dead, or given back untouched.
//
// An [Engine] opens a [Log], which is composed of one small interface per role:
//
//	Registry    which event types and subscriptions exist
//	Appender    publishing
//	Dispatcher  taking over, and the consumers whose deliveries this process handles
//	Canceller   cancelling events before they are handled
//	Waiter      waiting until deliveries are settled
//	Watcher     waiting for events to be published
//	Meter       backlogs, and events that nobody handles
//	Pauser      what is not delivered at the moment
//	Reporter    what the dispatching process shows to operators, and what they ask of it
//	Maintainer  deleting old events, giving space back, redriving dead letters
//	Timetable   which times of schedules are over
//	LimitKeeper what the rates of limits have used
//
// What not every log can do is an interface of its own, for which the bus looks:
//
//	Transactor      events and rows of the program in one transaction
//	Database, Joiner  the program's own connections to the file, and its own transactions on them
//	Inbox           programs without a bus can send events
//	HealthReporter  the log knows what is wrong with it
//
// For operators there is an [Inspection], which an [Inspectable] engine opens with or without a bus: an [Inspector]
// looks, and a [Steerer] changes. The bus has one too, for its history. What becomes of a delivery is decided in package
// ledger: engines only store it. What is asked of events and rows in memory is answered in package view.
//
// A [Consumer] is the engine's side of one subscription, a [Source] and a
// [Settler]. The files are named after the concepts: record.go, delivery.go,
// disposition.go, consumer.go, log.go, and so on.
//
// The words are those of a log with durable consumers, so that other engines of
// that kind fit behind the same interfaces. Nothing here names a storage. Package
// sqlite beside this one is the engine that programs get;
// runtime/jetstream/internal/buslog keeps events on servers.
package engine
