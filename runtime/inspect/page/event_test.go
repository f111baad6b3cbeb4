package page_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/payload/schema"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect/page"
	. "github.com/busgen/busgen/runtime/internal/conformance/inspection"
	"github.com/busgen/busgen/runtime/retry"
)

// documented is the catalogue of the fixture, with docs.
const documented = `version: 1
package: events
types:
  Money:
    fields:
      amount: { type: int64, doc: In cents. }
events:
  order.placed:
    doc: A customer placed an order.
    owner: the shop team
    retry: { max_attempts: 4, base_delay: 10s, jitter: 0.5 }
    payload:
      number: { type: int64, doc: What is on the receipt. }
      total: { type: "Money?", doc: What it costs. }
    subscriptions:
      printer: { doc: Prints it., timeout: 7s }
  user.created:
    doc: Someone opened an account.
    payload:
      name: { type: string, doc: What to call them. }
`

// source reads a catalogue from a file events.yaml.
func source(t *testing.T, text string) *catalog.Catalogue {
	t.Helper()
	path := filepath.Join(t.TempDir(), "events.yaml")
	Must(t, os.WriteFile(path, []byte(text), 0o600))
	c, findings, err := parse.Load(path)
	if err != nil || len(findings) > 0 {
		t.Fatal(findings, err)
	}
	return c
}

// newest returns the newest event.
func newest(t *testing.T, f *Fixture, filter event.Filter) event.Event {
	t.Helper()
	events, _, err := f.File.Events(t.Context(), filter, event.Page{Limit: 1})
	Must(t, err)
	if len(events) == 0 {
		t.Fatal("there is no event")
	}
	return events[0]
}

func TestAnEventIsShownWithAllThatBecameOfIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Mixed(t)
		p := pageOf(t, f, page.WithSource(source(t, documented)))
		dead := newest(t, f, event.Filter{Status: event.StatusDLQ})
		got := shows(t, p, "/event?id="+dead.ID.String()[:18],
			"A customer placed an order.", "What is on the receipt.", "In cents.", `<code><bdi>3</bdi></code>`, // the payload with its docs
			"order 3: the printer is on fire", "Failed attempt 2: error", `<circle class="failed"`, `<svg class="dead"`, // attempts
			"busgen events show", "busgen dlq retry", "busgen dlq discard", "&#34;seq&#34;", // commands and the row
			"No handler has published it")
		if strings.Contains(got, "<form") || strings.Contains(got, "If it keeps failing") {
			t.Errorf("it has buttons or retries:\n%s", got)
		}
		ada := newest(t, f, event.Filter{CorrelationID: "job-7"})
		shows(t, p, "/event?id="+ada.ID.String(), `./events?correlation=job-7`, "Handled without a failed attempt.", "Someone opened an account.")
	})
}

func TestThePageOfAnEventPredictsTheVeryTimesOfItsRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		policy := retry.Default().With(retry.MaxAttempts(4), retry.BaseDelay(10*time.Second), retry.Jitter(0.5))
		settings := declare.DefaultSettings()
		settings.Retry, settings.Breaker.Off = policy, true
		placed := runtime.Define(runtime.Spec[Order]{Name: "order.placed", Settings: settings})
		path := SQLite.Target(t)
		bus, err := SQLite.OpenBus(t.Context(), path, runtime.NewCatalogue(placed), runtime.WithLogger(slog.New(slog.DiscardHandler)))
		Must(t, err)
		defer bus.Shutdown(context.Background())
		f := &Fixture{Bus: bus, Path: path, File: SQLite.Outside(t, path)}
		var made []time.Time
		_, err = runtime.Subscribe(bus, placed, "printer", func(context.Context, runtime.Event[Order]) error {
			made = append(made, time.Now().UTC())
			return errors.New("no paper")
		})
		Must(t, err)
		Must(t, bus.Start(t.Context()))
		receipt, err := runtime.Publish(t.Context(), f.Bus, placed, Order{Number: 1})
		Must(t, err)
		synctest.Wait()
		p := pageOf(t, f, page.WithCatalogue(runtime.NewCatalogue(placed)))
		got := shows(t, p, "/event?id="+receipt.ID.String(), "If it keeps failing", "and then a dead letter")
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if len(made) != 4 {
			t.Fatalf("attempts were made at %v", made)
		}
		_, list, _ := strings.Cut(got, "If it keeps failing")
		list, _, _ = strings.Cut(list, "</ol>")
		for _, at := range made[1:] {
			if want := at.Format("2006-01-02 15:04:05 UTC"); !strings.Contains(list, want) {
				t.Errorf("a retry at %s is not predicted in\n%s", want, list)
			}
		}
		if n := strings.Count(list, "<time"); n != 3 {
			t.Errorf("%d retries are predicted, want 3", n)
		}
	})
}

func TestWithoutACatalogueTheNextRetryIsShownAndNoLaterOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Mixed(t)
		waiting := newest(t, f, event.Filter{Types: []string{"order.placed"}, Status: event.StatusPending})
		got := shows(t, pageOf(t, f), "/event?id="+waiting.ID.String(), "If it keeps failing", "Later retries are not known")
		_, list, _ := strings.Cut(got, "If it keeps failing")
		list, _, _ = strings.Cut(list, "</ol>")
		if n := strings.Count(list, "<time"); n != 1 {
			t.Errorf("%d retries are predicted, want 1", n)
		}
	})
}

func TestTheTreeOfAnEventLeadsToItsParentAndItsChildren(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Open(t)
		_, err := runtime.Subscribe(f.Bus, PlacedType, "greeter", func(ctx context.Context, e runtime.Event[Order]) error {
			_, err := runtime.Publish(ctx, f.Bus, UserType, User{Name: "Ada"})
			return err
		})
		Must(t, err)
		f.MustStart()
		f.Publish(1)
		p := open(t, f)
		child, parent := newest(t, f, event.Filter{Types: []string{"user.created"}}), newest(t, f, event.Filter{Types: []string{"order.placed"}})
		for _, id := range []string{child.ID.String(), parent.ID.String()} {
			shows(t, p, "/event?id="+id, `<a href="./event?id=`+id+`" aria-current="true">`, `"./event?id=`+child.ID.String(), `"./event?id=`+parent.ID.String(), "by <bdi>greeter</bdi>")
		}
	})
}

func TestAWideTreeIsShownInPart(t *testing.T) {
	for children, rest := range map[int]string{200: "and 51 more<", 700: "and more than 351 more<"} {
		synctest.Test(t, func(t *testing.T) {
			f := SQLite.Open(t)
			_, err := runtime.Subscribe(f.Bus, PlacedType, "greeter", func(ctx context.Context, e runtime.Event[Order]) error {
				for range children {
					if _, err := runtime.Publish(ctx, f.Bus, UserType, User{Name: "Ada"}); err != nil {
						return err
					}
				}
				return nil
			})
			Must(t, err)
			f.MustStart()
			f.Publish(1)
			p := open(t, f)
			root := newest(t, f, event.Filter{Types: []string{"order.placed"}})
			for _, id := range []string{root.ID.String(), newest(t, f, event.Filter{Types: []string{"user.created"}}).ID.String()} {
				got := shows(t, p, "/event?id="+id, "This is a part of the tree", `href="./events?correlation=`+root.ID.String(), "busgen events tree "+f.Path+" ", rest)
				_, of, _ := strings.Cut(got, `class="tree"`)
				of, _, _ = strings.Cut(of, "</section>")
				if n := strings.Count(of, "<li><a "); n != 150 {
					t.Errorf("%d events are shown", n)
				}
			}
		})
	}
}

func TestButtonsOfAnEventActOnOneDelivery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Mixed(t)
		p := open(t, f)
		dead := newest(t, f, event.Filter{Status: event.StatusDLQ})
		at := "/event?id=" + dead.ID.String()
		press := func(on, action, want string, fields ...string) {
			t.Helper()
			status, header, got := post(p, "/"+action, append(formOf(t, shows(t, p, on), action), fields...)...)
			if status != http.StatusSeeOther {
				t.Fatalf("%s: status %d\n%s", action, status, got)
			}
			shows(t, p, strings.TrimPrefix(header.Get("Location"), "."), want)
		}
		if status, _, _ := post(p, "/discard-dead", formOf(t, shows(t, p, at), "discard-dead")...); status != http.StatusBadRequest {
			t.Errorf("a discard without a reason has status %d", status)
		}
		press(at, "discard-dead", "The dead letter of printer is discarded.", "reason", "a test")
		press(at, "undiscard", "The event is a dead letter of printer again.")
		stale := formOf(t, shows(t, p, at), "retry-delivery")
		press(at, "retry-delivery", "The dead letter of printer is retried.")
		if _, header, _ := post(p, "/retry-delivery", stale...); true {
			shows(t, p, strings.TrimPrefix(header.Get("Location"), "."), "no dead letter of printer any more")
		}
		waiting := newest(t, f, event.Filter{Types: []string{"user.created"}, Status: event.StatusPending})
		press("/event?id="+waiting.ID.String(), "discard-delivery", "mailer will not handle the event.", "reason", "a test")
		press("/event?id="+newest(t, f, event.Filter{CorrelationID: "job-7"}).ID.String(), "replay-event", "mailer handles the event again.")
		entries, _, err := f.File.Audit(t.Context(), event.AuditFilter{}, event.Page{})
		Must(t, err)
		var actions []string
		for _, e := range entries {
			actions = append(actions, e.Action)
			if e.Actor != "ada" {
				t.Errorf("%s was done by %q", e.Action, e.Actor)
			}
		}
		if want := []string{"replay", "discard", "retry", "undiscard", "discard"}; !slices.Equal(actions, want) {
			t.Errorf("the audit has %q, want %q", actions, want)
		}
	})
}

func TestAnAddressOfNoEventIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Mixed(t)
		p := open(t, f)
		for path, want := range map[string]int{
			"/event": http.StatusBadRequest, "/event?id=zz": http.StatusBadRequest, "/event?id=018f4f2e-0000-7000-8000-000000000001": http.StatusNotFound,
			"/text?of=payload": http.StatusBadRequest, "/text?of=attempt&id=0": http.StatusNotFound,
		} {
			if status, _, got := get(p, path); status != want {
				t.Errorf("%s: status %d, want %d\n%s", path, status, want, got)
			}
		}
	})
}

func TestSensitiveValuesAreHiddenUnlessThePageIsToShowThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		placed := sensitiveType(t)
		path := SQLite.Target(t)
		bus, err := SQLite.OpenBus(t.Context(), path, runtime.NewCatalogue(placed), runtime.WithLogger(slog.New(slog.DiscardHandler)))
		Must(t, err)
		defer bus.Shutdown(context.Background())
		f := &Fixture{Bus: bus, Path: path, File: SQLite.Outside(t, path)}
		_, err = runtime.Subscribe(bus, placed, "mailer", func(_ context.Context, e runtime.Event[User]) error {
			runtime.Logger(e).Info("writing to " + e.Payload.Name)
			return errors.New("no mailbox for " + e.Payload.Name)
		})
		Must(t, err)
		Must(t, bus.Start(t.Context()))
		receipt, err := runtime.Publish(t.Context(), bus, placed, User{Name: "zebediah"}, runtime.WithMetadata(map[string]string{"to": "zebediah"}))
		Must(t, err)
		synctest.Wait()
		id := receipt.ID.String()
		paths := []string{"/event?id=" + id, "/text?of=payload&id=" + id, "/text?of=row&id=" + id, "/text?of=attempt&attempt=1&part=error&subscription=mailer&id=" + id,
			"/text?of=attempt&attempt=1&part=log&subscription=mailer&id=" + id, "/text?of=metadata&name=to&id=" + id, "/events"}
		for _, path := range paths {
			if got := shows(t, open(t, f), path, "[hidden]"); strings.Contains(got, "zebediah") {
				t.Errorf("%s shows\n%s", path, got)
			}
			if got := shows(t, pageOf(t, f, page.WithSensitive()), path, "zebediah"); strings.Contains(got, "[hidden]") {
				t.Errorf("%s hides\n%s", path, got)
			}
		}
		if status, _, got := post(open(t, f), "/edit-letter", "event", id, "subscription", "mailer", "payload", `{"name":"[hidden]"}`); status != http.StatusForbidden {
			t.Errorf("a payload with a hidden value is taken: %d\n%s", status, got)
		}
	})
}

// sensitiveType is an event type whose field is sensitive.
func sensitiveType(t *testing.T) *runtime.EventType[User] {
	t.Helper()
	c := source(t, "version: 1\npackage: people\nevents:\n  user.created:\n    payload:\n      name: { type: string, sensitive: true }\n")
	s := declare.DefaultSettings()
	s.Breaker.Off = true
	return runtime.Define(runtime.Spec[User]{Name: "user.created", Settings: s, Schema: schema.Of(c.Events[0])})
}
