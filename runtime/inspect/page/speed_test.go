package page_test

import (
	"context"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	. "github.com/busgen/busgen/runtime/internal/conformance/inspection"
)

// TestPagesAreFastOnALargeFile logs how long each page takes and, with -page.big, wants 95 of
// 100 answers within a tenth of a second.
func TestPagesAreFastOnALargeFile(t *testing.T) {
	short.Visit(t, "it fetches many pages")
	s := sizeOf()
	f := SQLite.OpenJobs(t)
	f.Failing(s.fails)
	for n := 0; n < s.events; n += 1000 {
		f.Publish(Numbers(n, min(n+1000, s.events))...)
	}
	f.Stop()
	if keep := os.Getenv("BUSGEN_TEST_KEEP"); keep != "" {
		content, err := os.ReadFile(f.Path)
		Must(t, err)
		Must(t, os.WriteFile(keep, content, 0o600))
	}
	file := f.Inspect().File
	p := on(t, file)
	times(t, p)
	Must(t, p.Close())
	Must(t, file.Close())
	f.Stop()
	publishBeside(t, s, f.Path)
}

// times measures pages.
func times(t *testing.T, p http.Handler) {
	t.Helper()
	group := link(t, shows(t, p, "/problems"), "group?")
	shown := shows(t, p, group)
	paths := []string{"/", "/problems", group, link(t, shown, "letter?")}
	if strings.Contains(shown, "after=") {
		paths = append(paths, link(t, shown, "group?after"))
	}
	id, err := url.Parse(group)
	Must(t, err)
	paths = append(paths, "/plan?kind=retry&of="+id.Query().Get("id"))
	of := regexp.MustCompile(`name="of" value="([^"]*)"`).FindStringSubmatch(shown)[1]
	paths = append(paths, "/plan?kind=discard&reason=old&of="+of, begin(t, p, "discard", url.Values{"limit": {"1"}, "reason": {"old"}}))
	dead := link(t, shows(t, p, "/events?status=dlq"), "event?")
	healthy := link(t, shows(t, p, "/events?status=done"), "event?")
	paths = append(paths, dead, healthy, "/text?of=row&"+strings.TrimPrefix(dead, "/event?"), "/incident.html?"+strings.TrimPrefix(dead, "/event?"),
		"/incident.html?group="+id.Query().Get("id"), "/subscriptions", "/catalogue", link(t, shows(t, p, "/catalogue"), "type?"), "/audit", "/audit?action=discard")
	for _, search := range []string{
		"", "type=job.*", "type=no.such", "status=pending", "status=processing", "status=dlq", "status=done", "since=2020-01-01", "until=2020-01-01",
		"correlation=none", "text=is+down", "text=nowhere", "type=job.*&status=dlq&since=2020-01-01",
	} {
		paths = append(paths, "/events?"+search)
	}
	for _, path := range paths {
		rounds, first := 5, time.Now()
		if get(p, path); *big && time.Since(first) < time.Second { // five are enough to see that it is slow
			rounds = 60
		}
		var took []time.Duration
		for range rounds {
			began := time.Now()
			if status, _, got := get(p, path); status != http.StatusOK {
				t.Fatalf("%s: status %d\n%s", path, status, got)
			}
			took = append(took, time.Since(began))
		}
		slices.Sort(took)
		p95 := took[len(took)*95/100]
		t.Logf("%-60.60s median %v, p95 %v, longest %v", path, took[len(took)/2].Round(time.Millisecond/10), p95.Round(time.Millisecond/10), took[len(took)-1].Round(time.Millisecond/10))
		if *big && p95 > 100*time.Millisecond {
			t.Errorf("%s takes %v", path, p95)
		}
	}
}

// publishBeside logs the rate of publishers alone and beside a job that retries the large
// group, without a process that dispatches and with one.
func publishBeside(t *testing.T, s size, path string) {
	t.Helper()
	for _, dispatches := range []bool{false, true} {
		f := SQLite.Reopen(t, path)
		if _, err := runtime.SubscribePattern(f.Bus, "*", "worker", func(context.Context, runtime.Event[runtime.Raw]) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if dispatches {
			f.MustStart()
			Must(t, f.WaitIdle(t.Context()))
		}
		p := on(t, f.File)
		var published atomic.Int64
		ctx, stop := context.WithCancel(t.Context())
		var busy sync.WaitGroup
		for range 4 {
			busy.Go(func() {
				for ctx.Err() == nil {
					if _, err := runtime.Publish(ctx, f.Bus, PlacedType, Order{}); err == nil {
						published.Add(1)
					}
				}
			})
		}
		rate := func(until func() bool) float64 {
			before, began := published.Load(), time.Now()
			for !until() {
				time.Sleep(10 * time.Millisecond)
			}
			return float64(published.Load()-before) / time.Since(began).Seconds()
		}
		span := 100 * time.Millisecond
		if *big {
			span = 5 * time.Second
		}
		after := func(d time.Duration) func() bool {
			end := time.Now().Add(d)
			return func() bool { return time.Now().After(end) }
		}
		rate(after(span / 5))
		first := rate(after(span))
		job := begin(t, p, "retry", url.Values{"limit": {strconv.Itoa(s.group / 10)}})
		began := time.Now()
		beside := rate(func() bool {
			_, _, got := get(p, job)
			if !strings.Contains(got, "Done: ") {
				time.Sleep(200 * time.Millisecond)
				return false
			}
			return true
		})
		took := time.Since(began)
		last := rate(after(span))
		stop()
		busy.Wait()
		alone := (first + last) / 2
		t.Logf("dispatching %t: %.0f events per second alone (%.0f, %.0f), %.0f beside a retry of %d that takes %v: %.2f", dispatches, alone, first, last, beside, s.group/10, took.Round(time.Millisecond), beside/alone)
		if *big && beside < 0.9*alone {
			t.Errorf("publishers keep %.2f of their speed", beside/alone)
		}
		Must(t, p.Close())
		f.Stop()
	}
}
