package inspection

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
)

// stream is what a tab gets that listens to a page.
type stream struct {
	header http.Header
	heard  atomic.Int64 // changes
}

func (s *stream) Header() http.Header { return s.header }
func (s *stream) WriteHeader(int)     {}
func (s *stream) Flush()              {}

func (s *stream) Write(b []byte) (int, error) {
	s.heard.Add(int64(strings.Count(string(b), "event: change\n")))
	return len(b), nil
}

// listen is a tab that listens until the test ends.
func (v visitor) listen() *stream {
	v.t.Helper()
	ctx, end := context.WithCancel(v.t.Context())
	s, done := &stream{header: http.Header{}}, make(chan bool)
	go func() {
		defer close(done)
		v.ServeHTTP(s, httptest.NewRequest("GET", "/live", nil).WithContext(ctx))
	}()
	v.t.Cleanup(func() { end(); <-done })
	return s
}

// numbersIn returns the payloads of the list on the page "Events", from top to bottom.
func numbersIn(page string) (numbers []string) {
	for _, cell := range strings.Split(page, `class="payload"><code><bdi>`)[1:] {
		text, _, _ := strings.Cut(cell, "</bdi>")
		numbers = append(numbers, text)
	}
	return numbers
}

func (env *Env) TestATabHearsOfNewEventsAndFindsThemAtTheTopOfItsSearch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Mixed(t)
		v := visit(t, f.File)
		tab := v.listen()
		time.Sleep(5 * time.Minute) // until the last retries
		quiet := tab.heard.Load()
		time.Sleep(100 * time.Second)
		if n := tab.heard.Load() - quiet; n != 0 {
			t.Errorf("when nothing changes the tab hears of %d changes", n)
		}
		const search = "/events?type=order.*"
		before := numbersIn(v.shows(search, `data-live="./live"`))
		for n := 100; n < 103; n++ {
			heard := tab.heard.Load()
			_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, Order{Number: n})
			Must(t, err)
			time.Sleep(3 * time.Second)
			if tab.heard.Load() == heard {
				t.Errorf("the tab does not hear of event %d", n)
			}
			after := numbersIn(v.shows(search, ""))
			if len(after) != len(before)+1 || !strings.Contains(after[0], fmt.Sprint(n)) {
				t.Errorf("after event %d the search has\n%q, before it had\n%q", n, after, before)
			}
			before = after
		}
		_, err := runtime.Publish(t.Context(), f.Bus, UserType, User{Name: "Eve"})
		Must(t, err)
		for n := range 60 {
			_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, Order{Number: 200 + n})
			Must(t, err)
		}
		time.Sleep(3 * time.Second)
		if got := numbersIn(v.shows(search, "")); len(got) != 50 || !strings.Contains(got[0], "259") || !strings.Contains(got[49], "210") {
			t.Errorf("after 60 more events the search has\n%q", got)
		}
		for _, still := range []string{"/events?until=2000-01-01", v.link(search, "events?after")} {
			if got := v.shows(still, ""); strings.Contains(got, "data-live") {
				t.Errorf("%s is loaded again, though nothing new belongs to it", still)
			}
		}
	})
}
