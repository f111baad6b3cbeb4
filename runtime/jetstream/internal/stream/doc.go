// Package stream is what the engine needs of NATS JetStream, in the words of a replicated
// log: messages are appended, alone or in atomic batches, each under the condition that
// nothing was appended to its subject meanwhile; the last message of a subject is read;
// and all messages are followed in order.
//
// Nothing here knows events or subscriptions. The files:
//
//	stream.go   the stream and its settings
//	append.go   one message, or a batch of them that is stored whole or not at all (ADR-50)
//	read.go     single messages and pages, from the leader or from any replica
//	inbox.go    the stream beside, to which others publish
//	feed.go     a consumer of the server, which numbers what it sends
//	follow.go   a reader that gets every message, in order, by one feed after another
//	errors.go   the server's errors
//	denials.go  what the user of the connection may not do, which the server does not answer
package stream
