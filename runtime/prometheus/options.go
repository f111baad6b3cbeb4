package busprom

import (
	"time"

	"github.com/busgen/busgen/runtime"
)

// Option tunes a [Collector].
type Option func(*Collector)

// WithFile makes the collector report the size of the file of the bus, and of its write-ahead log. path is
// what the bus was opened with.
func WithFile(path string) Option { return func(c *Collector) { c.path = path } }

// WithNames sets how many event types, and how many subscriptions, have series of their own; all
// others are added up under the name "(others)". The default is 1,000. Names that come first stay.
func WithNames(n int) Option {
	return func(c *Collector) { c.types.limit, c.subscriptions.limit = max(n, 0), max(n, 0) }
}

// WithPatience sets how long a scrape waits for what is read from the file. The default is one second; with 0
// it always has what was read last, which is nothing at first.
func WithPatience(d time.Duration) Option { return func(c *Collector) { c.patience = max(d, 0) } }

// NewCollector returns the collector of a bus. It may be made before the bus is started, and asked
// after it was shut down.
func NewCollector(bus *runtime.Bus, opts ...Option) *Collector {
	c := &Collector{bus: bus, patience: time.Second, types: names{limit: 1000}, subscriptions: names{limit: 1000}}
	for _, opt := range opts {
		if opt != nil {
			opt(c)
		}
	}
	return c
}
