package main

import "time"

// peers is in the order of the table. By default each is as the first example of its documentation
// starts it. What each is tuned to was tried here: other numbers of connections and workers and
// other intervals were not faster. All get WAL mode and synchronous=FULL, whatever they have by
// themselves.
var peers = []peer{
	{
		name: "River", module: "github.com/riverqueue/river/riverdriver/riversqlite", driver: modernc,
		open: openRiver, multiply: multiplyRiver, again: time.Hour,
		docs: "https://riverqueue.com/docs/sqlite, comments of riversqlite and river.Config, cmd/river/riverbench",
		defaults: "as in its documentation: one connection, 100 workers; FetchCooldown 100 ms, FetchPollInterval 1 s, " +
			"RescueStuckJobsAfter 1 h",
		tuned: "FetchCooldown and FetchPollInterval 10 ms; JobTimeout and RescueStuckJobsAfter 5 s. The numbers of River's own " +
			"benchmark (2 ms, 20 ms, 2,000 workers), github.com/mattn/go-sqlite3 and PollOnly were not faster here",
		syncs: "everything is synced; completions are gathered for up to 250 ms first, or until there are 100",
		notes: "The driver calls itself early, and slower than River on Postgres.",
	},
	{
		name: "backlite", module: "github.com/mikestefanello/backlite", driver: mattn,
		open: openBacklite, multiply: multiplyBacklite, again: 10 * time.Minute,
		docs:     "README.md of v0.6.0",
		defaults: "as in its README: 10 workers, Timeout 10 s, ReleaseAfter 10 min, retention 6 h; connections are not limited",
		tuned:    "one connection, 128 workers, Timeout 100 ms, ReleaseAfter 1 s, no retention",
		syncs:    "everything is synced. The DSN of its README is not: go-sqlite3 then has synchronous=NORMAL",
		notes:    "It looks for interrupted tasks only when there are others, so after the crash one is published every 200 ms.",
	},
	{
		name: "goqite", module: "maragu.dev/goqite", driver: mattn,
		open:     openGoqite,
		docs:     "README.md of v0.4.0 (its second example has jobs)",
		defaults: "as in its README: one connection, one job at once, PollInterval 10 ms; Timeout 5 s",
		tuned:    "128 jobs at once, PollInterval 1 ms, Timeout and Extend 1 s",
		syncs:    "everything is synced. A file with the DSN of its README is not: go-sqlite3 then has synchronous=NORMAL",
		notes: "Jobs run with its package jobs. With options that say nothing that runs a job per core and looks every 100 ms, " +
			"also while all of them are busy, which is slower. It deletes what is handled, so there is no file with many.",
	},
	{
		name: "Watermill", module: "github.com/ThreeDotsLabs/watermill-sql/v4", driver: modernc,
		open: openWatermill, multiply: multiplyWatermill, fanOut: true,
		docs:     "https://watermill.io/pubsubs/sql/, https://watermill.io/pubsubs/sqlite/, DEVELOPMENT.md of watermill-sqlite",
		defaults: "PollInterval 1 s, pages of 100, one connection",
		tuned:    "PollInterval 1 ms",
		syncs:    "an offset is synced once per page: after a crash the handled part of the page comes again",
		notes: "watermill-sql with a schema for SQLite of this module, because the modules of Watermill's own Pub/Subs for " +
			"SQLite could not be had from the module proxy. Those also take a lock per page, wait for it after a crash, and wait " +
			"a PollInterval after each page, also a full one; the documentation calls the one on zombiezen.com/go/sqlite six " +
			"times as fast as the one on modernc.org/sqlite. " +
			"A group gets one message after the other.",
	},
	{
		name: "outbox", module: "database/sql", driver: mattn,
		open: openOutbox, multiply: multiplyOutbox,
		defaults: "a table and a loop: looks ten times a second, handles a row after the other and commits each",
		docs:     "https://go.dev/doc/database, README.md of go-sqlite3",
		tuned:    "woken by a publish in the same process, a prepared INSERT, 100 rows at once, one commit for them",
		syncs:    "everything is synced; tuned, once for 100 rows",
		notes:    "No retries, no dead letters, no limits: a row that fails is tried at the next look for ever.",
	},
	{
		name: "busgen", module: "github.com/busgen/busgen",
		open: openBusgen, multiply: multiplyBusgen, fanOut: true,
		docs:     "README.md, docs/flow.md",
		defaults: "one event after the other per subscription",
		tuned:    "WithConcurrency(128)",
		syncs: "a success is written within 5 ms and not synced by itself, but with the next event that is published: " +
			"after a power cut, handled events can come again (after a kill only those that were running)",
		notes: "Publishers who are waiting share a sync.",
	},
}
