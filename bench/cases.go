package main

import (
	"context"
	"time"
)

// A benchCase is one line of the report.
type benchCase struct {
	name string
	doc  string // with what its limit is
	run  runner
}

// A runner measures for about s.total, with its files in s.dir.
type runner func(ctx context.Context, s *setting) (result, error)

// Slices are as short as they can be while starting and ending the goroutines
// of a case, and waiting for its last event, does not weigh in.
var cases = []benchCase{
	{"encode", "one payload to JSON with the generated code; limit: encoding/json",
		encode},
	{"decode", "one payload from JSON with the generated code; limit: encoding/json",
		decode},
	{"publish-1", "one publisher, nobody subscribed; limit: 1 row per commit",
		throughput(publishers(1), 1, 10*time.Millisecond)},
	{"publish-16", "16 publishers at once; limit: 16 rows per commit",
		throughput(publishers(16), 16, 20*time.Millisecond)},
	{"publish-128", "128 publishers at once; limit: 128 rows per commit",
		throughput(publishers(128), 128, 40*time.Millisecond)},
	{"batch-1000", "one publisher of batches of 1000; limit: 1000 rows per commit",
		throughput(batches(1000), 1000, 40*time.Millisecond)},
	{"e2e-1", "128 publishers until one handler has handled everything; limit: 128 rows per commit",
		endToEnd(1)},
	{"e2e-10", "128 publishers until ten subscriptions have handled everything; limit: 128 rows per commit",
		endToEnd(10)},
	{"e2e-batch", "one publisher of batches of 1000 until all is written to a table, in transactions of 128; limit: in " +
		"transactions of 1",
		batched(batches(1000).written())},
	{"e2e-batch-idle", "128 publishers until one handler of batches, which does nothing, has handled everything; " +
		"limit: e2e-1",
		batched(publishers(128).handledBy(1))},
	{"e2e-batch-pages", "one publisher of batches of 1000 until one handler of batches, which does nothing, has " +
		"handled everything; limit: e2e-1",
		batchedThroughout},
	{"tx-1", "one caller of Tx, with an insert, an update and an event each; limit: a transaction of database/sql each",
		transactions(1, 20*time.Millisecond)},
	{"tx-128", "128 callers of Tx at once, with the same; limit: a transaction of database/sql each",
		transactions(128, 40*time.Millisecond)},
	{"handle-tx", "128 publishers until transactional handlers, 128 at once, have written a row for each; limit: e2e-1",
		handledInTx},
	{"events-50k", "50,000 events of 128 publishers until one handler has handled all; limit: 128 rows per commit",
		eventsThroughOne},
	{"buses-500", "500 buses one after the other, each with a new file and 100 events; limit: new files with as many rows",
		shortLived},
	{"ephemeral-50k", "50,000 ephemeral subscriptions come, get one event and go; limit: publishing alone",
		comings},
	{"fanout-100", "deliveries of 128 publishers to 100 subscriptions; limit: events of publish-128",
		fanout(100)},
	{"latency-idle", "from one publish to its handler while nothing else goes on; limit: one commit of 1 row",
		latency},
	{"backlog-1m", "a million events that wait for one subscription; limit: reading their rows",
		backlog},
	{"history-1m", "e2e-1 in a file with a million handled events; limit: e2e-1 in a new file",
		history},
	{"recover-100", "from Start until 100 events are handled whose process was killed; limit: without a crash",
		recovery},
	{"dead-letters-10k", "the newest 100 of 10,000 dead letters; limit: reading their rows",
		deadLetters(10_000)},
	{"purge-10k", "one publisher while an operator purges half of 10,000 dead letters; limit: publishing alone",
		purge(10_000)},
	{"generate-1000", "events of a catalogue with 1,000 events and 10,000 fields to Go code; limit: formatting that code",
		generation(1000)},
}
