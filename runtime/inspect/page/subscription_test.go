package page_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/busgen/busgen/runtime/internal/conformance/inspection"
)

func TestThePageOfASubscriptionSaysFirstWhyItStandsStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Open(t)
		p := open(t, f)
		f.Subscribe("printer", func(int, int) error { return errors.New("no paper") })
		f.Subscribe("ledger", Fine)
		f.Publish(1)
		shows(t, p, "/subscription?name=ledger", "No process has ever dispatched from this bus.")
		f.MustStart()
		time.Sleep(time.Hour)
		shows(t, p, "/subscription?name=ledger", `health good`, "It has handled everything.", "busgen subscriptions show ", "ledger")
		shows(t, p, "/subscription?name=printer", "Dead letters by their cause", "no paper", "the newest dead letter")
		Must(t, f.File.PauseSubscription(t.Context(), "ledger", "the books are closed"))
		time.Sleep(3 * time.Minute)
		shows(t, p, "/subscription?name=ledger", `health warn`, "It has been paused for 3 min by ", ": the books are closed.", ">Resume")
		f.Publish(2)
		f.Stop()
		got := shows(t, p, "/subscription?name=ledger", `health bad`, "No process dispatches: process ", "the books are closed")
		if strings.Index(got, "No process dispatches") > strings.Index(got, "the books are closed") {
			t.Error("the pause comes first")
		}
		for _, from := range []string{"/", "/subscriptions"} {
			shows(t, p, from, `<a href="./subscription?name=ledger"><bdi>ledger</bdi></a>`)
		}
		for address, want := range map[string]int{"/subscription?name=other": http.StatusNotFound, "/subscription": http.StatusBadRequest} {
			if status, _, _ := get(p, address); status != want {
				t.Errorf("%s: status %d, want %d", address, status, want)
			}
		}
	})
}

func TestASubscriptionShowsWhatWaitsItsNewestErrorsAndHowFastItWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Mixed(t)
		p := open(t, f)
		shows(t, p, "/subscription?name=printer", "Waiting, the newest events", "order 4: the printer is on fire", `href="./retries?subscription=printer"`,
			"Newest errors", "order 3: the printer is on fire", "Dead letters of the last hour", "load it again in some seconds")
		time.Sleep(20 * time.Second)
		f.Publish(10)
		shows(t, p, "/subscription?name=printer", " handled, ", " published per minute, in the last ")
		shows(t, p, "/subscription?name=mailer", "All that wait") // Bob is delayed
		f.Publish(12, 13, 14)
		shows(t, p, "/subscription?name=printer", "load it again") // what was measured is old
	})
}
