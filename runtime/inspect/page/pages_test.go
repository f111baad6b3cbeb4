package page_test

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/internal/words"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/inspect/page"
	"github.com/busgen/busgen/runtime/inspect/page/fromfile"
	. "github.com/busgen/busgen/runtime/internal/conformance/inspection"
)

// rows counts the rows of the table of a page, without its head.
func rows(page string) int { return strings.Count(page, `<tr role="row"`) - 1 }

func TestEventsAreSearchedByAllThatTheFormAsksFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now().UTC()
		f := SQLite.Mixed(t)
		p := open(t, f)
		for query, want := range map[string]int{
			"": 7, "type=order.*": 5, "type=user.created+order.placed": 7, "status=dlq": 1, "correlation=job-7": 1, "text=Ada": 1, "type=order.*&status=done": 2,
			"subscription=printer": 5, "state=dead": 1, "subscription=mailer&state=done": 1, "state=waiting": 2, "subscription=printer&state=waiting": 1,
			"since=" + began.Add(2*time.Minute).Format("2006-01-02T15:04"): 5, "until=" + began.Add(2*time.Minute).Format("2006-01-02T15:04:05"): 2,
		} {
			if got := shows(t, p, "/events?"+query, "busgen events list", "busgen events tail"); rows(got) != want {
				t.Errorf("%s: %d events, want %d\n%s", query, rows(got), want, got)
			}
		}
		const since = "The search begins where the log was at "
		if got := shows(t, p, "/events?until="+began.Add(2*time.Minute).Format("2006-01-02T15:04:05")); strings.Contains(got, since) {
			t.Error("a search to the end of the log says that it is none")
		}
		shows(t, p, "/events?until="+began.Add(-2*time.Hour).Format("2006-01-02T15:04:05"), since+began.Add(-time.Hour).Format("2006-01-02 15:04:05 UTC"), "imported later are not found")
		shows(t, p, "/events?text=nothing+has+this", "No event matches.", "--text &#39;nothing has this&#39;")
		for _, query := range []string{"status=eaten", "state=eaten", "since=yesterday", "subscription=prnter", "after=x"} {
			status, _, got := get(p, "/events?text=Ada&"+query)
			if status != http.StatusBadRequest && (query != "subscription=prnter" || status != http.StatusNotFound) {
				t.Errorf("%s: status %d", query, status)
			}
			if query != "after=x" && (!strings.Contains(got, `name="text" value="Ada"`) || !strings.Contains(got, `role="alert"`)) {
				t.Errorf("%s: the form does not have what was typed:\n%s", query, got)
			}
		}
		shows(t, p, "/events?subscription=printer&state=waiting", "busgen events list --subscription printer --state waiting ", "<option selected>waiting</option>")
	})
}

func TestAllEventsAreReachedFromPageToPageWithTheSameConditions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Open(t)
		f.Subscribe("printer", Fine)
		for n := range 120 {
			f.Order(n)
		}
		p := open(t, f)
		seen, at := 0, "/events?type=order.placed"
		for range 3 {
			got := shows(t, p, at)
			seen += rows(got)
			_, next, more := strings.Cut(got, `<p class="more"><a href=".`)
			next, _, _ = strings.Cut(next, `"`)
			if at = strings.ReplaceAll(next, "&amp;", "&"); more && !strings.Contains(at, "type=order.placed") {
				t.Errorf("the next page is %s", at)
			}
		}
		if seen != 120 || at != "" {
			t.Errorf("%d events were seen, and the next page is %q", seen, at)
		}
	})
}

func TestASearchStopsAndGoesOnByALink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		page.LookThrough(t, 3)
		p := open(t, SQLite.Mixed(t)) // Ada is the fourth of seven
		got := shows(t, p, "/events?text=Ada", "No event matches so far. This page has looked through 3 events, back to ")
		got = shows(t, p, link(t, got, "events?after"), "Ada", "looked through 3 events, back to ")
		if strings.Contains(got, "so far") || strings.Contains(got, "Older events") {
			t.Errorf("a page with an event says\n%s", got)
		}
		got = shows(t, p, link(t, got, "events?after"), "No event matches.")
		if strings.Contains(got, "looked through") {
			t.Errorf("the last page says\n%s", got)
		}
	})
}

func TestSubscriptionsShowEachSettingWithTheLineItComesFrom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Open(t)
		f.Subscribe("printer", Fine)
		path := filepath.Join(t.TempDir(), "events.yaml")
		Must(t, os.WriteFile(path, []byte(documented), 0o600))
		known, err := fromfile.Catalogue(path)
		Must(t, err)
		line := func(text string) string {
			before, _, _ := strings.Cut(documented, text)
			return fmt.Sprintf("%s:%d<", path, strings.Count(before, "\n")+1)
		}
		got := shows(t, pageOf(t, f, known), "/subscriptions", "Prints it.", "declared for order.placed", "built in")
		for setting, want := range map[string]string{"timeout": line("timeout: 7s"), "retry.max_attempts": line("retry: { max_attempts")} {
			_, row, _ := strings.Cut(got, "<bdi>"+setting+"</bdi>")
			row, _, _ = strings.Cut(row, "</tr>")
			if !strings.Contains(row, want) {
				t.Errorf("%s comes from %s, want %s", setting, row, want)
			}
		}
		shows(t, pageOf(t, f, page.WithCatalogue(runtime.NewCatalogue(PlacedType))), "/subscriptions", "those of order.placed", "<bdi>retry.max_attempts</bdi></th><td><bdi>2</bdi>", "the program")
		shows(t, pageOf(t, f), "/subscriptions", "has no catalogue", "busgen events replay")
		if _, err := fromfile.Catalogue(path + ".gone"); err == nil {
			t.Error("a catalogue that is not there was read")
		}
	})
}

func TestASubscriptionHandlesAgainFromTheBeginningFromATimeAndFromAnEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Open(t)
		var printed Handled
		f.Subscribe("printer", printed.Handle)
		f.MustStart()
		began := time.Now().UTC()
		receipts := f.Publish(1, 2, 3)
		p := open(t, f)
		fields := formOf(t, shows(t, p, "/subscriptions"), "plan-replay")
		plan := func(to string) string {
			return "/plan-replay?" + url.Values{fields[0]: {fields[1]}, "from": {to}}.Encode()
		}
		for to, want := range map[string]int{
			"beginning": 3, began.Add(time.Minute).Format("2006-01-02T15:04"): 2, receipts[2].ID.String(): 1, receipts[2].ID.String()[:18]: 1,
		} {
			before := len(printed.All())
			asked := shows(t, p, plan(to), "Really have printer handle "+words.Counted(want, "event")+" again (from ", "Nothing is changed yet.", "busgen events replay --subscription printer ")
			time.Sleep(Notice)
			if n := len(printed.All()) - before; n != 0 {
				t.Fatalf("from %s: a dry run has replayed %d", to, n)
			}
			_, got := follow(t, p, "/replay", formOf(t, asked, "replay")...)
			if !strings.Contains(got, "printer handles ") {
				t.Errorf("to %s: the page shows\n%s", to, got)
			}
			time.Sleep(Notice)
			if n := len(printed.All()) - before; n != want {
				t.Errorf("to %s: %d were handled again, want %d", to, n, want)
			}
		}
		for _, to := range []string{"", "tomorrow", "zz"} {
			if status, _, _ := get(p, plan(to)); status != http.StatusBadRequest {
				t.Errorf("to %q: status %d", to, status)
			}
			if status, _, _ := post(p, "/replay", append(fields, "from", to)...); status != http.StatusBadRequest {
				t.Errorf("to %q: status %d", to, status)
			}
		}
		if status, _, got := get(p, "/plan-replay?subscription=printr&from=beginning"); status != http.StatusNotFound || !strings.Contains(got, "did you mean printer?") {
			t.Errorf("of no subscription: status %d\n%s", status, got)
		}
		got := shows(t, p, plan(time.Now().Add(time.Hour).UTC().Format("2006-01-02T15:04")), "Printer has handled nothing since then")
		if strings.Contains(got, `action="./replay"`) {
			t.Error("there is a button that does nothing")
		}
		button := formOf(t, shows(t, p, "/subscriptions"), "pause")
		if _, header, _ := post(p, "/pause", button...); !strings.HasPrefix(header.Get("Location"), "./subscriptions?done=") {
			t.Errorf("a pause leads to %s", header.Get("Location"))
		}
	})
}

func TestTheCatalogueShowsTypesWithTheirFieldsAndDocs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Mixed(t)
		known := pageOf(t, f, page.WithSource(source(t, documented)))
		shows(t, known, "/catalogue", "A customer placed an order.", "the shop team", "events.yaml:", "./type?name=order.placed", "./type?name=order.paid", "not in the catalogue")
		shows(t, known, "/type?name=order.placed", "What is on the receipt.", "total.amount", "In cents.", "Prints it.", "retry.max_attempts", "busgen events list")
		dead := pageOf(t, f)
		shows(t, dead, "/catalogue", "Name a catalogue", "./type?name=user.created")
		shows(t, dead, "/type?name=user.created", "No field of it is known.")
		if status, _, _ := get(known, "/type?name=order.eaten"); status != http.StatusNotFound {
			t.Errorf("a type that nobody knows has status %d", status)
		}
	})
}

func TestTheAuditIsSearchedByWhoWhatAndWhen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Open(t)
		f.Subscribe("printer", Fine)
		f.Subscribe("ledger", Fine)
		began := time.Now().UTC()
		Must(t, f.File.PauseSubscription(t.Context(), "printer", "no paper"))
		time.Sleep(time.Hour)
		as, err := f.File.As(t.Context(), "bob")
		Must(t, err)
		defer as.Close()
		Must(t, as.ResumeSubscription(t.Context(), "printer"))
		Must(t, as.PauseSubscription(t.Context(), "ledger", strings.Repeat("so ", 500)))
		p := open(t, f)
		for query, want := range map[string]int{
			"": 3, "actor=bob": 2, "action=pause": 2, "subscription=ledger": 1, "actor=ada&action=resume": -1, "since=" + began.Add(time.Minute).Format("2006-01-02T15:04"): 2,
		} {
			if got := shows(t, p, "/audit?"+query, "busgen audit list"); rows(got) != want {
				t.Errorf("%s: %d entries, want %d", query, rows(got), want)
			}
		}
		got := shows(t, p, "/audit?subscription=ledger", "all of it")
		_, link, _ := strings.Cut(got, `<a href="./text?`)
		link, _, _ = strings.Cut(link, `"`)
		shows(t, p, "/text?"+strings.ReplaceAll(link, "&amp;", "&"), strings.Repeat("so ", 500))
		for _, query := range []string{"action=eat", "since=x"} {
			if status, _, _ := get(p, "/audit?"+query); status != http.StatusBadRequest {
				t.Errorf("%s: status %d", query, status)
			}
		}
	})
}

func TestAnAuditOfManyEntriesGoesOnWithTheSameConditions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Open(t)
		f.Subscribe("printer", Fine)
		for range 40 {
			Must(t, f.File.PauseSubscription(t.Context(), "printer", ""))
			Must(t, f.File.ResumeSubscription(t.Context(), "printer"))
		}
		_, next, _ := strings.Cut(shows(t, open(t, f), "/audit?actor=ada"), `<p class="more"><a href=".`)
		next, _, _ = strings.Cut(next, `"`)
		address, err := url.Parse(strings.ReplaceAll(next, "&amp;", "&"))
		Must(t, err)
		if got := shows(t, open(t, f), address.String()); rows(got) != 30 || address.Query().Get("actor") != "ada" {
			t.Errorf("%s has %d entries", address, rows(got))
		}
	})
}
