package page_test

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	. "github.com/busgen/busgen/runtime/internal/conformance/inspection"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite"
)

// countingEngine is SQLite that counts how often its status is read.
type countingEngine struct {
	sqlite.Engine
	looks *atomic.Int64
	// do is called at the beginning of each look and, with true, at its end; nil for nothing.
	do func(end bool)
}

func (e countingEngine) Inspect(ctx context.Context, target, actor string) (engine.Inspection, error) {
	log, err := e.Engine.Inspect(ctx, target, actor)
	return countingLog{log, e}, err
}

type countingLog struct {
	engine.Inspection
	countingEngine
}

func (l countingLog) Status(ctx context.Context, limit int, since event.Status) (event.Status, error) {
	l.looks.Add(1)
	if l.do != nil {
		l.do(false)
	}
	return l.Inspection.Status(ctx, limit, since)
}

// Release is called at the end of a look.
func (l countingLog) Release() error {
	if l.do != nil {
		l.do(true)
	}
	return l.Inspection.(engine.Releaser).Release()
}

// tab listens to a page until the function is called, which returns what it has heard.
func tab(t *testing.T, p http.Handler) (heard *atomic.Int64, leave func()) {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	w := &stream{header: http.Header{}, heard: new(atomic.Int64)}
	done := make(chan bool)
	go func() {
		defer close(done)
		p.ServeHTTP(w, httptest.NewRequest("GET", "/live", nil).WithContext(ctx))
	}()
	return w.heard, func() {
		end()
		<-done
		if !strings.HasPrefix(w.header.Get("Content-Type"), "text/event-stream") {
			t.Errorf("the headers are %v", w.header)
		}
	}
}

// stream counts the events that it gets.
type stream struct {
	header http.Header
	heard  *atomic.Int64
}

func (s *stream) Header() http.Header { return s.header }
func (s *stream) WriteHeader(int)     {}
func (s *stream) Flush()              {}

func (s *stream) Write(b []byte) (int, error) {
	for lines := bufio.NewScanner(strings.NewReader(string(b))); lines.Scan(); {
		if lines.Text() == "event: change" {
			s.heard.Add(1)
		}
	}
	return len(b), nil
}

func TestOneWatcherTellsAllTabsThatSomethingHasChangedAndNobodyLooksWithoutTabs(t *testing.T) {
	short.Visit(t, "it fetches many pages")
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Open(t)
		f.Subscribe("printer", Fine)
		f.MustStart()
		time.Sleep(Notice)
		looks := new(atomic.Int64)
		file, err := inspect.Open(t.Context(), f.Path, inspect.WithEngine(countingEngine{looks: looks}))
		Must(t, err)
		defer file.Close()
		p := on(t, file)
		time.Sleep(time.Minute)
		if n := looks.Load(); n != 0 {
			t.Errorf("without tabs there are %d looks", n)
		}
		first, leaveFirst := tab(t, p)
		second, leaveSecond := tab(t, p)
		time.Sleep(100 * time.Second)
		if n := looks.Load(); n < 90 || n > 110 {
			t.Errorf("in 100 seconds two tabs make %d looks", n)
		}
		if first.Load() != 0 || second.Load() != 0 {
			t.Errorf("when nothing changes the tabs hear of %d and %d changes", first.Load(), second.Load())
		}
		Must(t, f.File.PauseSubscription(t.Context(), "printer", ""))
		time.Sleep(5 * time.Second)
		heard := first.Load() // twice if a look came between the pause and what the bus did about it
		if heard < 1 || heard > 2 || second.Load() != heard {
			t.Errorf("after a change the tabs have heard of %d and %d changes", first.Load(), second.Load())
		}
		leaveFirst()
		f.Publish(1)
		if first.Load() != heard || second.Load() <= heard {
			t.Errorf("after a tab has left the tabs have heard of %d and %d changes", first.Load(), second.Load())
		}
		leaveSecond()
		time.Sleep(10 * time.Second)
		before := looks.Load()
		time.Sleep(time.Minute)
		if n := looks.Load() - before; n != 0 {
			t.Errorf("without tabs there are %d more looks", n)
		}
		third, leave := tab(t, p)
		time.Sleep(2 * time.Second)
		Must(t, f.File.ResumeSubscription(t.Context(), "printer"))
		time.Sleep(5 * time.Second)
		if third.Load() == 0 {
			t.Error("a tab that comes later hears nothing")
		}
		Must(t, p.Close()) // it ends the tab
		leave()
	})
}

func TestAPageSaysWhetherBrowsersLoadItAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.MakeDead(t, 1)
		p := on(t, f.Inspect().File)
		for _, path := range []string{"/", "/problems", link(t, shows(t, p, "/problems"), "group?")} {
			shows(t, p, path, `data-live="./live"`)
		}
		if got := shows(t, p, link(t, shows(t, p, "/problems"), "letter?")); strings.Contains(got, "data-live") {
			t.Error("a page with an editor is loaded again")
		}
	})
}

// A status counts 10,000 events at most, and knows when the newest one was published. Two
// events of the same time, one before a look and one after it, are the same to it.
func TestATabHearsOfAnEventThatIsPublishedAtTheTimeOfTheOneBefore(t *testing.T) {
	short.Visit(t, "it fetches many pages")
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Open(t)
		var all []Order
		for n := range event.MaxBacklog + 1 {
			all = append(all, Order{Number: n})
		}
		for part := range slices.Chunk(all, 1000) {
			_, err := runtime.PublishBatch(t.Context(), f.Bus, PlacedType, part)
			Must(t, err)
		}
		var begin, end atomic.Bool
		file, err := inspect.Open(t.Context(), f.Path, inspect.WithEngine(countingEngine{looks: new(atomic.Int64), do: func(ends bool) {
			if !ends && begin.CompareAndSwap(true, false) {
				end.Store(true)
				f.Order(1)
			} else if ends && end.CompareAndSwap(true, false) {
				f.Order(2)
			}
		}}))
		Must(t, err)
		defer file.Close()
		heard, leave := tab(t, on(t, file))
		time.Sleep(10500 * time.Millisecond)
		if heard.Load() != 0 {
			t.Errorf("when nothing changes the tab hears of %d changes", heard.Load())
		}
		begin.Store(true)
		time.Sleep(time.Second)
		if heard.Load() != 1 {
			t.Errorf("after the first event the tab has heard of %d changes", heard.Load())
		}
		time.Sleep(10 * time.Second)
		if heard.Load() != 2 {
			t.Errorf("after the second event the tab has heard of %d changes", heard.Load())
		}
		leave()
	})
}
