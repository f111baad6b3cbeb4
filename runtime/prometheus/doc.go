// Package busprom collects the metrics of a bus for Prometheus, with the client library of Prometheus. It is
// a module of its own, so that programs that do not use it need nothing of that. Without the library use
// [runtime.Bus.WriteMetrics], which needs none.
//
//	prometheus.MustRegister(busprom.NewCollector(bus, busprom.WithFile("shop.db")))
//	http.Handle("GET /metrics", promhttp.Handler())
//
// Several buses in one program have a label each:
//
//	prometheus.WrapRegistererWith(prometheus.Labels{"bus": "shop"}, prometheus.DefaultRegisterer).
//		MustRegister(busprom.NewCollector(bus))
//
// # Metrics
//
// All that [runtime.Bus.WriteMetrics] writes is here under the same name, so a dashboard and alerts
// serve both: counters by event type and by subscription, histograms of handlers and of the time from
// publication, backlogs, dead letters, breakers, health. Added are busgen_attempts_total by outcome,
// busgen_breaker_state, busgen_file_bytes and others; docs/telemetry.md lists them.
// A Grafana dashboard is in dashboard.json beside this file, and as [Dashboard].
//
// # Scrapes
//
// A scrape never waits for the bus. Counts are in memory. Backlogs and dead letters are read from the
// file: one reader at a time, for which a scrape waits a second at most ([WithPatience]). If it takes
// longer, or fails, the scrape has the figures that were read last, and busgen_scrape_stale_seconds says how
// old they are. A part that fails is left out, and busgen_scrape_failed names it.
//
// The number of series is bounded: the first 1,000 event types and subscriptions have names, and
// all others together have the name "(others)" ([WithNames]). Ephemeral subscriptions count for their
// event types only.
package busprom
