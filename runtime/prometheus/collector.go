package busprom

import (
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/observe"
)

// Collector is a [prometheus.Collector] for one bus. It is safe for concurrent use.
type Collector struct {
	bus      *runtime.Bus
	path     string // of the file; empty if it is unknown
	patience time.Duration

	mu                   sync.Mutex // one scrape at a time gives names
	types, subscriptions names
	file                 file
}

var _ prometheus.Collector = (*Collector)(nil)

// all has the description of each metric, by its name.
var all = map[string]*prometheus.Desc{}

// metric describes a metric.
func metric(name, help string, labels ...string) *prometheus.Desc {
	desc := prometheus.NewDesc(name, help, labels, nil)
	all[name] = desc
	return desc
}

var (
	fileBytes = metric("busgen_file_bytes", "Size of the file of the bus, and of its write-ahead log.", "file")
	failed    = metric("busgen_scrape_failed", "1 if a part of the metrics could not be collected.", "part")
	stale     = metric("busgen_scrape_stale_seconds", "Age of the figures that are read from the file.")
	stopped   = metric("busgen_stopped", "1 if the bus has stopped dispatching by itself.")
	exceeded  = metric("busgen_health_exceeded", "1 if the threshold of a health check is exceeded.", "check")
	unwritten = metric("busgen_unwritable_seconds", "For how long nothing could be stored, by the fault; none while it can.", "fault")
	refused   = metric("busgen_refused_total", "Events that were not stored, by what the error was.", "reason")
)

// Describe implements [prometheus.Collector].
func (c *Collector) Describe(to chan<- *prometheus.Desc) {
	for _, desc := range all {
		to <- desc
	}
}

// part is what fails alone.
type part struct {
	name    string
	collect func(*sink) error
}

// Collect implements [prometheus.Collector].
func (c *Collector) Collect(to chan<- prometheus.Metric) {
	read := c.file.read(c.bus, c.patience)
	c.mu.Lock()
	defer c.mu.Unlock()
	parts := []part{
		{"counts", c.collectCounts},
		{"health", c.collectHealth},
		{"backlog", func(s *sink) error { return c.collectLags(s, read) }},
		{"pauses", func(s *sink) error { return c.collectPauses(s, read) }},
	}
	if c.path != "" {
		parts = append(parts, part{"size", c.collectSize})
	}
	for _, part := range parts {
		s := &sink{}
		err := guarded(func() error { return part.collect(s) })
		for _, m := range s.metrics {
			to <- m
		}
		to <- gauge(failed, bit(err != nil || s.err != nil), part.name)
	}
}

// guarded calls f. Its panic is an error.
func guarded(f func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v", cause)
		}
	}()
	return f()
}

func (c *Collector) collectHealth(s *sink) error {
	health := c.bus.Health()
	s.gauge(stopped, bit(health.Stopped != ""))
	for _, check := range health.Checks {
		s.gauge(exceeded, bit(check.Exceeded), check.Name)
		if check.Name == observe.CheckUnwritable && check.Exceeded {
			s.gauge(unwritten, max(health.At.Sub(check.Since), 0).Seconds(), check.Mostly)
		}
	}
	return nil
}

func (c *Collector) collectSize(s *sink) error {
	info, err := os.Stat(c.path)
	if err != nil {
		return err
	}
	s.gauge(fileBytes, float64(info.Size()), "database")
	wal := 0.0 // there is none while no process has the file open
	if info, err := os.Stat(c.path + "-wal"); err == nil {
		wal = float64(info.Size())
	}
	s.gauge(fileBytes, wal, "wal")
	return nil
}

// sink keeps metrics. One that cannot be made, such as one with a label that is not valid, is
// left out.
type sink struct {
	metrics []prometheus.Metric
	err     error
}

func (s *sink) add(m prometheus.Metric, err error) {
	if err != nil {
		s.err = err
		return
	}
	s.metrics = append(s.metrics, m)
}

func (s *sink) gauge(desc *prometheus.Desc, v float64, labels ...string) {
	s.add(prometheus.NewConstMetric(desc, prometheus.GaugeValue, v, labels...))
}

func (s *sink) count(desc *prometheus.Desc, v uint64, labels ...string) {
	s.add(prometheus.NewConstMetric(desc, prometheus.CounterValue, float64(v), labels...))
}

// gauge makes a metric whose labels are known to be valid.
func gauge(desc *prometheus.Desc, v float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, v, labels...)
}

func bit(set bool) float64 {
	if set {
		return 1
	}
	return 0
}
