package page_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime/event"
	. "github.com/busgen/busgen/runtime/internal/conformance/inspection"
)

func TestTheFirstPageSaysHowTheBusIsDoing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Open(t)
		p := open(t, f)
		shows(t, p, "/", "It is at rest.", "No process has ever dispatched", "There are no subscriptions")
		f.Subscribe("printer", Fine)
		f.Subscribe("ledger", Fine)
		f.MustStart()
		shows(t, p, "/", "All is well.", ">printer<", ">order.placed<")
		Must(t, f.File.PauseSubscription(t.Context(), "ledger", "the books are closed"))
		time.Sleep(Notice)
		f.Publish(1, 2)
		got := shows(t, p, "/", "It works, with remarks.", "ledger is paused, and 2 events wait for it.", "the books are closed", "by <bdi>ada</bdi>")
		if strings.Contains(got, "All is well") {
			t.Error("a paused bus is well")
		}
		f.Stop()
		shows(t, p, "/", "Something is wrong.", "No process dispatches: 2 deliveries are to be handled, the oldest from 2 min ago.")
	})
}

func TestAButtonPausesAndResumesInTheNameOfTheActor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Open(t)
		f.Subscribe("printer", Fine)
		p := open(t, f)
		fields := formOf(t, shows(t, p, "/", "You act as <bdi>ada</bdi>", "busgen subscriptions pause "), "pause")
		status, header, _ := post(p, "/pause", append(fields, "reason", "no paper")...)
		next := header.Get("Location")
		if status != http.StatusSeeOther || !strings.HasPrefix(next, "./?done=") {
			t.Fatalf("status %d, to %q", status, next)
		}
		got := shows(t, p, strings.TrimPrefix(next, "."), "Subscription printer is paused.", "no paper", ">Resume")
		if status, _, _ := post(p, "/resume", formOf(t, got, "resume")...); status != http.StatusSeeOther {
			t.Errorf("status %d", status)
		}
		entries, _, err := f.File.Audit(t.Context(), event.AuditFilter{Actor: "ada"}, event.Page{})
		Must(t, err)
		var actions []string
		for _, e := range entries {
			actions = append(actions, e.Action)
		}
		if want := []string{"resume", "pause"}; !slices.Equal(actions, want) {
			t.Errorf("the audit has %q, want %q", actions, want)
		}
		if status, _, got := post(p, "/resume", fields...); status != http.StatusNotFound || !strings.Contains(got, "there is no") {
			t.Errorf("what is not paused is resumed: %d\n%s", status, got)
		}
	})
}

func TestTheFirstPageDrawsTheLastHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Open(t)
		p := open(t, f)
		shows(t, p, "/", "The last hour", `aria-label="none"`)
		f.Subscribe("printer", Fail)
		f.Subscribe("ledger", Fine)
		f.MustStart()
		f.Order(1)
		f.Order(2)
		f.Publish(3) // and a minute passes
		time.Sleep(500 * time.Millisecond)
		got := shows(t, p, "/",
			`aria-label="3 events, at most 3 in a minute, 1 minute ago"`, "<p>3 events, at most 3 in a minute, 1 minute ago</p>",
			`aria-label="3 dead letters, at most 3 in a minute, which is the last one"`, "Dead letters of <bdi>printer</bdi>",
			`d="M236 40v-40h3v40z"`, `d="M232 40v-40h3v40z"`)
		if strings.Contains(got, "of <bdi>ledger</bdi>") {
			t.Error("a subscription without dead letters has a curve")
		}
		f.Stop()
		time.Sleep(30 * time.Minute)
		f = SQLite.Reopen(t, f.Path)
		shows(t, open(t, f), "/", "3 events, at most 3 in a minute, 31 minutes ago", "3 dead letters, at most 3 in a minute, 30 minutes ago")
		time.Sleep(30 * time.Minute)
		shows(t, open(t, f), "/", `<p>none</p>`)
	})
}
