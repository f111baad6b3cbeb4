package busprom_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
	busprom "github.com/busgen/busgen/runtime/prometheus"
	"github.com/busgen/busgen/runtime/retry"
)

// busy returns a bus on which something of everything has happened.
func busy(t *testing.T, opts ...runtime.Option) *conformance.Fixture {
	f := conformance.SQLite.Open(t, opts...)
	f.Handle("reader", func(_ context.Context, e placed) error {
		time.Sleep(time.Duration(e.Payload.Number) * 30 * time.Millisecond)
		switch {
		case e.Payload.Number == 2:
			return conformance.ErrBoom
		case e.Payload.Number == 3 && e.Attempt == 1:
			return runtime.Snooze(time.Second)
		case e.Payload.Number == 4:
			return runtime.Discard("not ours")
		}
		return nil
	}, runtime.WithRetry(retry.MaxAttempts(2)))
	f.Handle("member", ignore, runtime.InGroup("team"))
	f.Batches("export", func(context.Context, []placed) error { return nil }, runtime.WithBatch(2, time.Second))
	f.MustStart()
	f.Publish(1, 2, 3, 4)
	f.Idle()
	conformance.Must(t, f.PauseSubscription(t.Context(), "team", ""))
	conformance.Must(t, f.PauseTypes(t.Context(), "user.*", ""))
	f.Publish(5)
	time.Sleep(time.Minute)
	return f
}

// Who has a dashboard for WriteMetrics can use the collector, and the other way round.
func TestTheCollectorHasAllMetricsOfWriteMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := busy(t)
		got := gathered(t, busprom.NewCollector(f.Bus))
		var page bytes.Buffer
		conformance.Must(t, f.WriteMetrics(t.Context(), &page))
		want := parsed(t, page.Bytes())
		if len(want) < 30 {
			t.Fatalf("WriteMetrics has %d metrics", len(want))
		}
		for name, family := range want {
			if got[name] == nil {
				t.Errorf("the collector has no %s", name)
				continue
			}
			if diff := cmp.Diff(samples(family), samples(got[name])); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
			if family.GetHelp() != got[name].GetHelp() || family.GetType() != got[name].GetType() {
				t.Errorf("%s: %v %q, want %v %q", name, got[name].GetType(), got[name].GetHelp(), family.GetType(), family.GetHelp())
			}
		}
	})
}

func TestTheCollectorCountsAttemptsByOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := busy(t)
		got := gathered(t, busprom.NewCollector(f.Bus, busprom.WithFile(f.Path)))
		want := map[string]string{
			"outcome=handled subscription=reader ": "3", "outcome=retried subscription=reader ": "1", "outcome=failed subscription=reader ": "1",
			"outcome=snoozed subscription=reader ": "1", "outcome=discarded subscription=reader ": "1",
		}
		all := samples(got["busgen_attempts_total"])
		for labels, n := range want {
			if all[labels] != n {
				t.Errorf("%s: %s, want %s", labels, all[labels], n)
			}
		}
		for sample, want := range map[string]string{
			"busgen_breaker_state group=team state=closed subscription=member ": "1",
			"busgen_breaker_state group=team state=open subscription=member ":   "0",
			"busgen_batches_total subscription=export ":                         "3",
			"busgen_batch_events_total subscription=export ":                    "5",
			"busgen_paused group=team subscription=member ":                     "1",
			"busgen_type_pauses ":                            "1",
			"busgen_backlog subscription=team ":              "1",
			"busgen_oldest_seconds subscription=team ":       "60",
			"busgen_dead_letters subscription=reader ":       "1",
			"busgen_scrape_failed part=size ":                "0",
			"busgen_scrape_stale_seconds ":                   "0",
			"busgen_stopped ":                                "0",
			"busgen_concurrency subscription=reader ":        "1",
			"busgen_unhandled subscription=reader ":          "0",
			"busgen_type_published_total type=order.placed ": "5",
		} {
			name, labels, _ := strings.Cut(sample, " ")
			if v := one(t, got, name, labels); v != want {
				t.Errorf("%s is %s, want %s", sample, v, want)
			}
		}
		info, err := os.Stat(f.Path)
		conformance.Must(t, err)
		if v := one(t, got, "busgen_file_bytes", "file=database "); v != fmt.Sprint(float64(info.Size())) {
			t.Errorf("the file has %s bytes, want %d", v, info.Size())
		}
	})
}

func TestTheMetricsFollowTheRulesOfPrometheus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := busy(t)
		c := busprom.NewCollector(f.Bus, busprom.WithFile(f.Path))
		problems, err := testutil.CollectAndLint(c)
		conformance.Must(t, err)
		for _, p := range problems {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	})
}

func TestTheNumberOfSeriesIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := conformance.SQLite.Open(t)
		for n := range 5 {
			f.Handle(fmt.Sprintf("reader-%d", n), ignore)
		}
		f.MustStart()
		for n := range 10 {
			f.Handle(fmt.Sprintf("tab-%d", n), ignore, runtime.Ephemeral())
		}
		c := busprom.NewCollector(f.Bus, busprom.WithNames(3))
		gathered(t, c) // gives names
		f.Handle("a-new-one", ignore)
		f.Publish(1, 2)
		f.Idle()
		got := gathered(t, c)
		want := map[string]string{"subscription=reader-0 ": "2", "subscription=reader-1 ": "2", "subscription=reader-2 ": "2", "subscription=(others) ": "6"}
		if diff := cmp.Diff(want, samples(got["busgen_handled_total"])); diff != "" {
			t.Error(diff)
		}
		if n := len(samples(got["busgen_backlog"])); n != 4 {
			t.Errorf("there are %d backlogs", n)
		}
		if n := len(samples(got["busgen_breaker_state"])); n != 9 {
			t.Errorf("there are %d states of breakers", n)
		}
	})
}

func TestAScrapeSucceedsInWhateverStateTheBusIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := conformance.SQLite.Open(t)
		f.Handle("(others)", ignore)
		f.Handle(`a "quoted" \ name`, ignore)
		c := busprom.NewCollector(f.Bus, nil, busprom.WithFile("/nowhere/shop.db"))
		before := gathered(t, c)
		if v := one(t, before, "busgen_scrape_failed", "part=size "); v != "1" {
			t.Errorf("a file that is not there has the figure %s", v)
		}
		if v := one(t, before, "busgen_scrape_failed", "part=backlog "); v != "0" {
			t.Errorf("before the start the backlog has failed: %s", v)
		}
		one(t, before, "busgen_backlog", `subscription=a "quoted" \ name `)
		f.MustStart()
		f.Publish(1)
		f.Idle()
		gathered(t, c)
		f.Stop()
		time.Sleep(time.Hour)
		after := gathered(t, c)
		for sample, want := range map[string]string{
			"busgen_scrape_failed part=backlog ":             "1",
			"busgen_scrape_failed part=counts ":              "0",
			"busgen_scrape_stale_seconds ":                   "3600",
			"busgen_type_published_total type=order.placed ": "1",
		} {
			name, labels, _ := strings.Cut(sample, " ")
			if v := one(t, after, name, labels); v != want {
				t.Errorf("after the shutdown %s is %s, want %s", sample, v, want)
			}
		}
	})
}

func TestTwoBusesHaveALabelEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := prometheus.NewPedanticRegistry()
		for _, name := range []string{"shop", "stock"} {
			f := conformance.SQLite.Open(t)
			conformance.Must(t, prometheus.WrapRegistererWith(prometheus.Labels{"bus": name}, registry).Register(busprom.NewCollector(f.Bus)))
		}
		n, err := testutil.GatherAndCount(registry, "busgen_stopped")
		if conformance.Must(t, err); n != 2 {
			t.Errorf("there are %d", n)
		}
	})
}
