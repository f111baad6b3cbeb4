package page_test

import (
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/busgen/busgen/runtime/internal/conformance/inspection"
)

func TestTypesArePausedAndResumedOnThePage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Open(t)
		f.Subscribe("printer", Fine)
		p := open(t, f)
		shows(t, p, "/", "busgen subscriptions pause --type TYPES ")
		for _, wrong := range []string{"", "order.*.*[", "a b"} {
			if status, _, got := post(p, "/pause-types", "pattern", wrong); status != http.StatusBadRequest {
				t.Errorf("types %q: status %d\n%s", wrong, status, got)
			}
			if status, _, got := get(p, "/plan-pause?pattern="+url.QueryEscape(wrong)); status != http.StatusBadRequest {
				t.Errorf("a dry run of types %q: status %d\n%s", wrong, status, got)
			}
		}
		if status, _, got := get(p, "/plan-pause?pattern=ordr.placed"); status != http.StatusNotFound || !strings.Contains(got, "did you mean order.placed?") {
			t.Errorf("of no type: status %d\n%s", status, got)
		}
		if status, _, got := post(p, "/pause-types", "types", "ordr.placed"); status != http.StatusNotFound || !strings.Contains(got, "did you mean order.placed?") {
			t.Errorf("of no type: status %d\n%s", status, got)
		}
		asked := shows(t, p, "/plan-pause?"+url.Values{"pattern": {"order.*"}, "reason": {"no <b>paper</b>"}}.Encode(), "Pause events of type order.*", "order.paid, order.placed", "Nothing is lost, and nothing is changed yet")
		shows(t, p, "/", "Nothing is paused.")
		_, got := follow(t, p, "/pause-types", formOf(t, asked, "pause-types")...)
		if !strings.Contains(got, "Events of type order.* are paused: ") || !strings.Contains(got, "no &lt;b&gt;paper") || !strings.Contains(got, "busgen subscriptions resume --type &#39;order.*&#39; ") {
			t.Errorf("the page shows\n%s", got)
		}
		_, got = follow(t, p, "/resume-types", formOf(t, got, "resume-types")...)
		if !strings.Contains(got, "Nothing is paused.") {
			t.Errorf("the page shows\n%s", got)
		}
	})
}

func TestACircuitBreakerIsClosedOnThePage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var broken atomic.Bool
		f, _ := SQLite.Opened(t, &broken, &Handled{})
		p := open(t, f)
		got := shows(t, p, "/", "busgen breakers close ")
		broken.Store(false)
		_, got = follow(t, p, "/close-breaker", formOf(t, got, "close-breaker")...)
		if !strings.Contains(got, "The circuit breaker of ") || !strings.Contains(got, "None is open.") {
			t.Errorf("the page shows\n%s", got)
		}
		if status, _, _ := post(p, "/close-breaker", "subscription", "nobody"); status != http.StatusNotFound {
			t.Errorf("a breaker that is not there is closed: status %d", status)
		}
	})
}

func TestHandlersAtWorkAreOnTheFirstPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Open(t)
		end := make(chan bool)
		f.Subscribe("printer", func(int, int) error { <-end; return nil })
		f.MustStart()
		p := open(t, f)
		shows(t, p, "/", "Handlers at work", "Put off again and again")
		go f.Publish(1)
		time.Sleep(5 * time.Second)
		shows(t, p, "/", `href="./event?id=`, `data-label="Deadline"`)
		close(end)
		time.Sleep(2 * time.Minute)
	})
}
