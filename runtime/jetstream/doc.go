// Package jetstream keeps the events of a bus on NATS JetStream instead of in a file, for
// programs that outgrow one machine. Generated code, handlers, policies and dead letters stay
// as they are:
//
//	bus, err := events.Open(ctx, "nats://a,b,c/shop", jetstream.Engine())
//
// The package is a module of its own, so that programs which keep their events in a file
// download and compile nothing of NATS. The servers must be of version 2.14 or newer.
//
// # How to connect
//
// [Options] takes options of the NATS client, such as credentials and certificates; [Conn] a connection that the program
// has. [Stream] changes the settings of the stream that Open makes. An address may begin with tls://.
//
// # How it works
//
// One stream holds everything: events, positions of subscriptions, deliveries that wait, dead letters, names, pauses.
// It is used as a replicated transaction log, not as a queue with acknowledgements: consumers of JetStream deliver
// nothing. A process stores what it has done with deliveries in one atomic batch with the next version of the
// subscription's cursor, and the servers refuse the batch if another process has written the cursor meanwhile. That is
// the transaction and the lock in one.
//
// Every process may start its bus. A subscription is handled by one of them at a time. When
// that process stops, another takes its subscriptions over at once; when it dies, as soon as
// the servers have noticed that its connection is gone, which for a machine that has lost its
// power or its network takes some seconds.
//
// The tour: internal/stream has what is needed of JetStream, in the words of a log;
// internal/buslog is the engine. Its package comment names the records and the files.
//
// # Programs without a bus
//
// Programs in other languages read events from a mirror of the stream, and send events to an inbox:
// [runtime.SubscribeInbox]. docs/jetstream.md has the contract.
//
// # What is different from a file
//
// Nil from Publish means what the servers mean by it. By default a JetStream server writes an
// event to the disk within two minutes, so that a stream of three replicas survives the loss of a
// machine, but not a power cut of all. Set sync_interval: always on the servers for that.
// Open logs a warning for each setting that weakens a promise: a stream of one replica, or
// in memory, or one that discards its oldest messages; an old version of the server; small
// messages. A client can know sync_interval only if the system account exports
// $SYS.REQ.SERVER.PING.JSZ to its account.
//
// Open fails with a StorageError if the servers are too old (before 2.12), or if the stream is another program's,
// deletes messages by itself, or was written by a newer version of busgen.
//
// A payload has at most about 60 % of max_payload of the servers, and metadata 48 KiB, because a
// dead letter has a copy of them: with the default of 1 MiB that is 620 KiB. Publish refuses larger ones.
// What dead letters say of attempts is cut if it does not fit.
//
// # When servers or connections are lost
//
// The client connects to another server of the address by itself. Publish, Subscribe and Start wait while the servers
// elect a leader, which takes them some seconds after one was killed. The client repeats requests that a server did not
// answer, with the same id, so that each is stored once. After 15 seconds Publish fails with a StorageError. Its field
// InDoubt says that the event may be stored, because a server has got it and has not answered; without it nothing is
// stored. To publish an event in doubt again, use an idempotency key.
//
// Handlers go on meanwhile, and what they return is stored when the servers are back. A process that cannot reach the
// servers is taken over by another one: at once if its connection has ended, or after eight seconds if it is silent.
// The servers refuse what it stores after that: its handlers' events are not published, and the deliveries are handled
// again.
package jetstream
