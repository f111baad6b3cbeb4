// Package postgres lets programs that keep their rows in Postgres publish and handle events in the transactions of
// those rows. Generated code, policies and dead letters stay as they are:
//
//	tx, err := pool.Begin(ctx)
//	…
//	_, err = tx.Exec(ctx, "INSERT INTO orders …")
//	_, err = events.PublishOrderPlaced(ctx, postgres.In(bus, tx), order)
//	…
//	err = tx.Commit(ctx)
//
// The event is a row of the table outbox until it is committed, and for some milliseconds more: then the [Relay] of a
// bus brings it there, to a file or to NATS JetStream, where handlers get it as any other event. After a rollback there
// is no event.
//
//	bus, err := events.Open(ctx, "shop.db", postgres.Relay(pool)) // the process that handles
//	bus, err := events.Open(ctx, "shop", postgres.Outbox(pool))   // any other one, which only publishes
//
// [Subscribe], [SubscribeSQL] and [SubscribeBatch] handle events in a transaction: the rows of the handler, what it
// publishes and a mark that the event is handled are one commit, so an event that is delivered again is not handled
// again.
//
// The database needs a schema of its own: see [Migrate]. Postgres is of version 13 or newer. Nothing depends on the
// state of a session, so a pooler in transaction mode will do.
//
// docs/postgres.md says which order events have, what happens when one of the systems fails, and what there is not.
//
// The package is a module of its own, so that programs which do not use Postgres download and compile nothing of it.
//
// The tour: rows.go writes and reads the table; in.go publishes in a transaction of the program, outbox.go without one;
// relay.go brings rows to a bus, under the lease of lease.go, and floor.go keeps it from stepping over dead rows;
// inbox.go handles.
package postgres
