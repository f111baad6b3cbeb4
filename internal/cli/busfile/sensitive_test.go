package busfile

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/payload/schema"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/inspect/page"
	"github.com/busgen/busgen/runtime/retry"
)

const peopleCatalogue = `version: 1
package: people
events:
  user.registered:
    partition_by: number
    payload:
      number: string
      email: { type: string, sensitive: true, personal: true }
      plan: string
`

type registered struct {
	Number string `json:"number"`
	Email  string `json:"email"`
	Plan   string `json:"plan"`
}

func (registered) Validate() error { return nil }

var registeredType = func() *runtime.EventType[registered] {
	c, findings := parse.Text("events.yaml", []byte(peopleCatalogue))
	if findings != nil {
		panic(findings)
	}
	s := declare.DefaultSettings()
	s.Retry = s.Retry.With(retry.MaxAttempts(1))
	s.Breaker.Off = true
	return runtime.Define(runtime.Spec[registered]{Name: "user.registered", Settings: s, Schema: schema.Of(c.Events[0])})
}()

// inOffice runs f beside the file people.db of a program that is dead. One registration is a
// dead letter, one is handled.
func inOffice(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	inFolder(t, map[string]string{"events.yaml": peopleCatalogue})
	t.Setenv("COLUMNS", "")
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(night))
		bus, err := runtime.Open(t.Context(), "people.db", runtime.NewCatalogue(registeredType), runtime.WithLogger(slog.New(slog.DiscardHandler)))
		must(t, err)
		_, err = runtime.Subscribe(bus, registeredType, "greeter", func(_ context.Context, e runtime.Event[registered]) error {
			if strings.HasPrefix(e.Payload.Email, "zeb") {
				runtime.Logger(e).Info("greeting", "to", e.Payload.Email)
				return fmt.Errorf("no mailbox for %s", e.Payload.Email)
			}
			return nil
		})
		must(t, err)
		must(t, bus.Start(t.Context()))
		for n, email := range []string{"zebediah at example", "ann@example.org"} {
			_, err = runtime.Publish(t.Context(), bus, registeredType, registered{Number: fmt.Sprint("c-", n), Email: email, Plan: "gold"},
				runtime.WithMetadata(map[string]string{"from": email}), runtime.WithDedupeKey("registered "+email))
			must(t, err)
			time.Sleep(time.Minute)
		}
		must(t, bus.Shutdown(context.Background()))
		f(t)
	})
}

func TestSensitiveValuesAreShownOnlyIfAskedFor(t *testing.T) {
	inOffice(t, func(t *testing.T) {
		id := shownID(t, "busgen dlq list people.db")
		for verb, shown := range map[string]bool{
			"dlq list people.db": true, "dlq list people.db --json": true, "dlq show people.db " + id: true, "dlq show people.db --json " + id: true,
			"dlq groups people.db": true, "dlq groups people.db --json": true, "events list people.db": true, "events list people.db --json": true,
			"events show people.db " + id: true, "events show people.db --json " + id: true, "events tree people.db --json " + id: true,
			"status people.db": false, "status people.db --json": false, "breakers list people.db": false,
		} {
			got := does(t, "busgen "+verb)
			if strings.Contains(got, "zebediah") || strings.Contains(got, "ann@") || shown && !strings.Contains(got, "[hidden]") {
				t.Errorf("%s shows\n%s", verb, got)
			}
			if got = does(t, "busgen "+verb+" --show-sensitive"); shown != strings.Contains(got, "zebediah") || strings.Contains(got, "[hidden]") {
				t.Errorf("%s --show-sensitive shows\n%s", verb, got)
			}
		}
		for _, verb := range []string{"dlq export people.db", "dlq export people.db --text zebediah"} {
			if got := typed(t, "busgen "+verb, ""); got.Status != 2 || got.Stdout != "" || !strings.Contains(got.Stderr, "sensitive values of user.registered in clear") || !strings.Contains(got.Stderr, "--yes") {
				t.Errorf("%s does not ask: %+v", verb, got)
			}
		}
		if got := typed(t, "busgen dlq export people.db --type 'order.*' --yes", ""); got.Status != 1 {
			t.Errorf("an export of no known type: %+v", got)
		}
		got := typed(t, "busgen dlq export people.db --yes", "").Stdout
		if !strings.Contains(got, "zebediah") {
			t.Errorf("an export that cannot be imported:\n%s", got)
		}
	})
}

func TestTextsAreNotLookedForInSensitiveValuesUnlessAskedFor(t *testing.T) {
	inOffice(t, func(t *testing.T) {
		for verb, none := range map[string]string{
			"events list people.db --text zebediah":                                "There are no such events.",
			"events export people.db --source /shop --text zebediah":               "exported 0 events",
			"events replay people.db --subscription greeter --text ann@ --dry-run": "matched 0",
			"dlq list people.db --text zebediah":                                   "There are no such dead letters.",
			"dlq groups people.db --text zebediah":                                 "There are no such dead letters.",
			"dlq retry people.db --text zebediah --dry-run":                        "matched 0",
			"dlq discard people.db --text zebediah --because 'a test' --dry-run":   "matched 0",
			"dlq purge people.db --until 1s --text zebediah --dry-run":             "matched 0",
		} {
			hidden, open := typed(t, "busgen "+verb, ""), typed(t, "busgen "+verb+" --show-sensitive", "")
			if !strings.Contains(hidden.Stdout+hidden.Stderr, none) || strings.Contains(open.Stdout+open.Stderr, none) || open.Status != 0 {
				t.Errorf("%s: %+v and with --show-sensitive: %+v", verb, hidden, open)
			}
		}
	})
}

// Else who may not see a value could guess it, one character after the other.
func TestThePageAnswersTheSameWhetherOrNotAHiddenValueHasAText(t *testing.T) {
	inOffice(t, func(t *testing.T) {
		file, err := inspect.Open(t.Context(), "people.db")
		must(t, err)
		defer file.Close()
		groups, err := file.FailureGroups(t.Context(), event.Filter{})
		must(t, err)
		group := groups[0].Fingerprint
		for _, shows := range []bool{false, true} {
			var opts []page.Option
			if shows {
				opts = append(opts, page.WithSensitive())
			}
			p, err := page.New(file, opts...)
			must(t, err)
			defer p.Close()
			for _, path := range []string{"/events?text=", "/events?status=dlq&text=", "/group?id=" + group + "&text=", "/plan?kind=retry&of=" + group + "&text="} {
				get := func(text string) string {
					w := httptest.NewRecorder()
					p.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path+url.QueryEscape(text), nil))
					return strings.ReplaceAll(w.Body.String(), "xeb", "zeb") // the form has what was asked for
				}
				for there, missing := range map[string]string{"zebediah": "xebediah", "zeb": "xeb", "mailbox for zeb": "mailbox for xeb"} {
					if same := get(there) == get(missing); same == shows {
						t.Errorf("%s with %q and with %q: the same is %v, and sensitive values are shown: %v", path, there, missing, same, shows)
					}
				}
			}
		}
	})
}

func TestAPersonIsErasedByTheCommand(t *testing.T) {
	inOffice(t, func(t *testing.T) {
		const line = "busgen erase people.db 'zebediah at example' --actor eve"
		want := func(got, text string) {
			t.Helper()
			if got != text {
				t.Errorf("it prints\n%s", got)
			}
		}
		want(does(t, line+" --dry-run"), "would erase 1 event with 1 dead letter and 1 failed attempt, and 0 texts elsewhere\n")
		if got := typed(t, line, "n\n"); got.Status != 2 && got.Status != 1 {
			t.Errorf("it does not ask: %+v", got)
		}
		want(does(t, line+" --yes"), "erased 1 event with 1 dead letter and 1 failed attempt, and 0 texts elsewhere\n")
		want(does(t, line+" --yes"), "erased 0 events with 0 dead letters and 0 failed attempts, and 0 texts elsewhere\n")
		for _, verb := range []string{"events list people.db --json", "dlq list people.db --json", "audit list people.db --json"} {
			if got := does(t, "busgen "+verb); strings.Contains(got, "zebediah") {
				t.Errorf("%s shows\n%s", verb, got)
			}
		}
		if got := does(t, "busgen events list people.db --show-sensitive --json"); strings.Count(got, "ann@example.org") < 2 {
			t.Errorf("others are gone:\n%s", got)
		}
		if got := does(t, "busgen audit list people.db"); !strings.Contains(got, "erase") || !strings.Contains(got, "eve") {
			t.Errorf("the audit shows\n%s", got)
		}
		if got := typed(t, "busgen erase people.db --yes", ""); got.Status != 2 {
			t.Errorf("without a value: %+v", got)
		}
	})
}
