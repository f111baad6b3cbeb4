// Package event is the vocabulary of events and their deliveries: what a bus, the tools of operators and the engines
// that store events say to each other.
//
//	event.go        an event, its deliveries and their states
//	deadletter.go   deliveries that were given up, and why; attempt.go has their attempts
//	status.go       what a bus holds, how far its subscriptions are behind, and who dispatches
//	activity.go     handlers that run, circuit breakers that are open
//	filter.go       chooses events and dead letters; page.go a part of a list
//	replay.go       chooses what a subscription handles again
//	steer.go        what operators have changed; audit.go keeps it
//	errors.go       why something is refused, and storage_error.go why nothing could be stored
//
// Programs get these values from package runtime, and operators from package inspect. This package imports neither.
package event
