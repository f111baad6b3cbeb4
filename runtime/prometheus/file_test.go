package busprom

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/conformance"
)

// A reader that takes long is not waited for, and no second one begins beside it.
func TestAScrapeDoesNotWaitForAFileThatIsSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := conformance.SQLite.Open(t)
		c := NewCollector(f.Bus)
		slow := make(chan struct{})
		c.file.reading = slow
		c.file.last = figures{at: time.Now().Add(-time.Minute), lags: []event.Lag{{Subscription: "reader", Backlog: 7}}}
		began := time.Now()
		registry := prometheus.NewPedanticRegistry()
		conformance.Must(t, registry.Register(c))
		families, err := registry.Gather()
		conformance.Must(t, err)
		if took := time.Since(began); took != time.Second {
			t.Errorf("a scrape has waited %v", took)
		}
		values := map[string]float64{}
		for _, family := range families {
			for _, m := range family.GetMetric() {
				values[family.GetName()] = m.GetGauge().GetValue()
			}
		}
		if values["busgen_backlog"] != 7 || values["busgen_scrape_stale_seconds"] != 61 {
			t.Errorf("the last figures are %v, of %v seconds ago", values["busgen_backlog"], values["busgen_scrape_stale_seconds"])
		}
		if c.file.reading != slow {
			t.Error("a second reader has begun")
		}
	})
}

// One figure that is no good is left out, and all others are there.
func TestAPartThatFailsIsLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c Collector // without a bus every part panics; without a path there is no size
		c.file.last.at = time.Now()
		c.file.reading = make(chan struct{})
		metrics := make(chan prometheus.Metric, 100)
		c.Collect(metrics)
		if n := len(metrics); n != 4+2 {
			t.Errorf("there are %d metrics", n)
		}
		s := &sink{}
		s.gauge(backlog, 1, "a", "label too many")
		s.gauge(backlog, 1, "a")
		if len(s.metrics) != 1 || s.err == nil {
			t.Errorf("%d metrics, error %v", len(s.metrics), s.err)
		}
	})
}

func TestNamesThatAreNotValidAreNotMixedUp(t *testing.T) {
	n := names{limit: 10}
	got := []string{n.of("a\xff"), n.of("a\xfe"), n.of("a�"), n.of("b"), n.of("a\xff")}
	want := []string{"a�", others, others, "b", "a�"}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("name %d is %q, want %q", i, got[i], want[i])
		}
	}
}
