package main

import "time"

// peers is in the order of the table. What each is tuned to was tried here: other numbers of
// connections and workers and other intervals were not faster.
var peers = []peer{
	{
		name: "River", module: "github.com/riverqueue/river/riverdriver/riversqlite", driver: modernc,
		open: openRiver, multiply: multiplyRiver, again: time.Hour,
		defaults: "one connection, as the documentation of the driver advises; 100 workers",
		tuned:    "FetchCooldown 1 ms, FetchPollInterval 10 ms; JobTimeout and RescueStuckJobsAfter 5 s",
		syncs:    "everything is synced; completions are gathered for up to 50 ms first",
		notes:    "The driver calls itself early, and slower than River on Postgres.",
	},
	{
		name: "backlite", module: "github.com/mikestefanello/backlite", driver: mattn,
		open: openBacklite, multiply: multiplyBacklite, again: 10 * time.Minute,
		defaults: "as in its README: 10 workers, ReleaseAfter 10 min, retention 6 h",
		tuned:    "one connection, 128 workers, ReleaseAfter 1 s, no retention",
		syncs:    "everything is synced. The DSN of its README is not: go-sqlite3 then has synchronous=NORMAL",
		notes:    "It looks for interrupted tasks only when there are others, so after the crash one is published every 200 ms.",
	},
	{
		name: "goqite", module: "maragu.dev/goqite", driver: mattn,
		open:     openGoqite,
		defaults: "one connection, as in its README; a job per core, PollInterval 100 ms, Timeout 5 s",
		tuned:    "128 jobs at once, PollInterval 1 ms, Timeout and Extend 1 s",
		syncs:    "everything is synced",
		notes:    "Jobs run with its package jobs. It deletes what is handled, so there is no file with many.",
	},
	{
		name: "Watermill", module: "github.com/ThreeDotsLabs/watermill-sql/v4", driver: modernc,
		open: openWatermill, multiply: multiplyWatermill, fanOut: true,
		defaults: "PollInterval 1 s, pages of 100, one connection",
		tuned:    "PollInterval 1 ms",
		syncs:    "an offset is synced once per page: after a crash the handled part of the page comes again",
		notes: "watermill-sql with a schema for SQLite of this module, because the modules of Watermill's own Pub/Subs for " +
			"SQLite could not be had from the module proxy. Those also take a lock per page, and wait for it after a crash. " +
			"A group gets one message after the other.",
	},
	{
		name: "outbox", module: "database/sql", driver: mattn,
		open: openOutbox, multiply: multiplyOutbox,
		defaults: "a table and a loop: looks ten times a second, handles a row after the other and commits each",
		tuned:    "woken by a publish in the same process, 100 rows at once, one commit for them",
		syncs:    "everything is synced; tuned, once for 100 rows",
		notes:    "No retries, no dead letters, no limits: a row that fails is tried at the next look for ever.",
	},
	{
		name: "busgen", module: "github.com/busgen/busgen",
		open: openBusgen, multiply: multiplyBusgen, fanOut: true,
		defaults: "one event after the other per subscription",
		tuned:    "WithConcurrency(128)",
		syncs: "a success is written within 5 ms and not synced by itself, but with the next event that is published: " +
			"after a power cut, handled events can come again (after a kill only those that were running)",
		notes: "Publishers who are waiting share a sync.",
	},
}
