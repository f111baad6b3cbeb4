package busfile

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/largefile"
	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/inspect/page"
)

// What looks reads so many steps at most, however large the file is.
const (
	one      = 17_000    // one thing, or a page of a list
	few      = 60_000    // a page of a list with more about each of them, and what has opened a circuit breaker
	passed   = 250_000   // a page of a list that begins behind 2,000 events that do not match
	looked   = 800_000   // what a page of a search looks through: 10,000 events, or 2,000 with what became of them
	counted  = 5_300_000 // 10,000 events, and for each of the four subscriptions 100,000 of its rows and 100,000 events behind its cursor
	branches = 12_000_000
)

// Or it grows with something: docs/deploying.md lists these.
const (
	events  = "events"
	dead    = "dead letters"
	group   = "dead letters of the group"
	lately  = "dead letters of the last hour"
	actions = "entries of the audit"
	all     = "the file"
)

// reading says how much something reads: its bound, or what it grows with.
type reading struct {
	what  string
	most  int64  // steps
	grows string // empty for nothing; else most is for each event
}

// verbsThatLook are all of them, with their dry runs.
var verbsThatLook = []reading{
	{"status F", counted, ""},
	{"status F --show-sensitive", counted, ""},
	{"status F --watch --count 2", 2 * counted, ""},
	{"status F --json", 200, lately},
	{"events list F", one, ""},
	{"events list F --status dlq", passed, ""},
	{"events list F --status pending", passed, ""},
	{"events list F --status processing", 100, events},
	{"events list F --status done", passed, ""},
	{"events list F --subscription greeter", passed, ""},
	{"events list F --subscription mailer --state dead", passed, ""},
	{"events list F --state waiting", 100, events},
	{"events list F --state pending", passed, ""},
	{"events list F --type user.*", one, ""},
	{"events list F --type order.*", 20, events},
	{"events list F --text nowhere", 80, events},
	{"events list F --correlation none", 60, events},
	{"events list F --child-of PARENT", few, ""},
	{"events list F --since 1m", one, ""},
	{"events show F DEAD", one, ""},
	{"events show F PARENT", one, ""},
	{"events tree F CHILD", one, ""},
	{"events tree F CHILD --root", branches, ""},
	{"events tail F", one, ""},
	{"events tail F --text nowhere", 80, events},
	{"events export F --source /shop", 200, events},
	{"events try-now F --all --dry-run", 100, events},
	{"events replay F --subscription greeter --all --dry-run", 100, events},
	{"dlq list F", one, ""},
	{"dlq list F --group GROUP", one, ""},
	{"dlq list F --text nowhere", 80, dead},
	{"dlq groups F", 20, dead},
	{"dlq groups F --group GROUP", 20, group},
	{"dlq show F DEAD", one, ""},
	{"dlq export F --yes", 300, dead},
	{"dlq retry F --all --dry-run", 110, dead}, // it reads a status, too
	{"dlq retry F --group GROUP --dry-run", 110, group},
	{"dlq discard F --all --because old --dry-run", 20, dead},
	{"dlq purge F --until 1s --dry-run", 20, dead},
	{"subscriptions list F", counted, ""},
	{"subscriptions show F mailer", 110, dead},
	{"breakers list F", few, ""},
	{"schedules list F", one, ""},
	{"running list F", few, ""},
	{"limits list F", passed, ""},
	{"erase F nobody --dry-run", 80, all},
	{"audit list F", one, ""},
	{"audit list F --since 1h", one, ""},
	{"audit list F --event DEAD", one, ""},
	{"audit list F --action rename", 4, actions},
	{"check-db F", 700, all},
	{"__complete events show F ''", one, ""},
	{"__complete dlq show F ''", passed, ""},
	{"__complete dlq list F --type ''", one, ""},
	{"__complete dlq list F --group ''", 20, dead},
	{"__complete subscriptions pause F ''", counted, ""},
	{"__complete breakers close F ''", few, ""},
}

// viewsThatLook are those of the page, and its texts.
var viewsThatLook = []reading{
	{"/", 120, lately},
	{"/problems", 60, dead},
	{"/group?id=GROUP", 20, group},
	{"/group?id=GROUP&text=nowhere", 20, group},
	{"/letter?event=DEAD&subscription=SUBSCRIPTION", one, ""},
	{"/event?id=DEAD", one, ""},
	{"/event?id=PARENT", looked, ""},
	{"/event?id=CHILD", looked, ""},
	{"/events", few, ""},
	{"/events?text=nowhere", looked, ""},
	{"/events?type=order.*", looked, ""},
	{"/events?correlation=none", looked, ""},
	{"/events?status=dlq", looked, ""},
	{"/events?status=pending", looked, ""},
	{"/events?status=processing", looked, ""},
	{"/events?status=done", looked, ""},
	{"/events?subscription=greeter", looked, ""},
	{"/events?subscription=mailer&state=dead", looked, ""},
	{"/events?subscription=mailer&state=discarded", looked, ""},
	{"/events?state=waiting", looked, ""},
	{"/events?state=pending", looked, ""},
	{"/events?state=done", looked, ""},
	{"/events?since=2026-03-14T02:39", few, ""},
	{"/events?until=2026-03-14T02:00", looked, ""},
	{"/publish", one, ""},
	{"/limits", passed, ""},
	{"/schedules", one, ""},
	{"/jobs", 60, dead},
	{"/publish?type=user.registered", one, ""},
	{"/subscriptions", counted, ""},
	{"/subscription?name=mailer", 110, dead},
	{"/retries?subscription=mailer", counted, ""},
	{"/retries?subscription=mailer&text=nowhere", counted, ""},
	{"/catalogue", one, ""},
	{"/type?name=user.registered", one, ""},
	{"/audit", one, ""},
	{"/audit?action=rename", 4, actions},
	{"/plan?kind=retry&of=GROUP", 110, group},
	{"/plan?kind=discard&reason=old&of=GROUP", 20, group},
	{"/incident.html?id=DEAD", one, ""},
	{"/incident.html?group=GROUP", 20, group},
	{"/text?of=breaker&subscription=greeter", few, ""},
	{"/text?of=group&group=GROUP", 20, group},
	{"/text?of=letter&event=DEAD&subscription=SUBSCRIPTION", one, ""},
	{"/text?of=row&id=DEAD", one, ""},
	{"/text?of=payload&id=DEAD", one, ""},
	{"/text?of=attempt&id=DEAD&subscription=SUBSCRIPTION&attempt=1&part=error", one, ""},
	{"/text?of=audit&entry=1", one, ""},
	{"/style.css", one, ""},
	{"/icon.svg", one, ""},
}

// viewsElsewhere are not in the table: a job is an action, whose page reads what "Problems" does, and the live
// changes are a status each second while somebody looks.
var viewsElsewhere = []string{"job", "live", "script.js"}

func TestWhatLooksReadsABoundedPartOfTheFile(t *testing.T) {
	short.Visit(t, "it runs many commands")
	t.Run("10,000 events", func(t *testing.T) { readsBounded(t, 10_000) })
	t.Run("1,000,000 events", func(t *testing.T) {
		short.Skip(t, "it fills a file of 300 MB")
		readsBounded(t, 1_000_000)
	})
}

func readsBounded(t *testing.T, size int) {
	inFolder(t, map[string]string{})
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(night))
		largefile.Open(t, "F", size)
		file, err := inspect.Open(t.Context(), "F")
		must(t, err)
		names := namesIn(t, file)
		measure := func(of reading, do func()) {
			t.Helper()
			most, per := of.most, ""
			if of.grows != "" {
				if size > 10_000 {
					return
				}
				most, per = of.most*int64(size), ", as it grows with the "+of.grows
			}
			reads := largefile.Count(do)
			t.Logf("%-70s %9d steps, %8d pages", of.what, reads.Steps, reads.Pages)
			if pages := most/6 + 1000; reads.Steps > most || reads.Pages > pages {
				t.Errorf("with %d events %s takes %d steps and reads %d pages, want %d and %d at most%s", size, of.what, reads.Steps, reads.Pages, most, pages, per)
			}
		}
		for _, verb := range verbsThatLook {
			measure(verb, func() {
				if got := typed(t, "busgen "+names.Replace(verb.what), ""); got.Status != 0 {
					t.Errorf("%s: %+v", verb.what, got)
				}
			})
		}
		p, err := page.New(file, page.WithActions(func(*http.Request) (string, bool) { return "ada", true }))
		must(t, err)
		get := func(path string) string {
			w := httptest.NewRecorder()
			p.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
			if w.Code != http.StatusOK {
				t.Errorf("%s: status %d\n%s", path, w.Code, w.Body)
			}
			return w.Body.String()
		}
		get("/catalogue") // for the first view the page reads the status, to know how commands name the file
		known := map[string]bool{}
		for _, view := range append(viewsElsewhere, paths(viewsThatLook)...) {
			known[view] = true
		}
		for _, view := range viewsThatLook {
			var text string
			measure(view, func() { text = get(names.Replace(view.what)) })
			if whole := strings.HasPrefix(view.what, "/text") || strings.HasPrefix(view.what, "/incident"); !whole && len(text) > mostPage {
				t.Errorf("%s has %d bytes, want %d at most", view.what, len(text), mostPage)
			}
			for _, link := range regexp.MustCompile(`(?:href|src|action|data-live)="\./([a-z.-]*)`).FindAllStringSubmatch(text, -1) {
				if !known[link[1]] && !strings.Contains(link[0], "action") {
					t.Errorf("%s leads to %s, of which nobody knows how much it reads", view.what, link[1])
				}
			}
		}
		must(t, p.Close())
		must(t, file.Close())
	})
}

// mostPage is how large a page is at most, in bytes, whatever the file has.
const mostPage = 60_000

// paths are the last parts of the paths of views.
func paths(views []reading) (all []string) {
	for _, v := range views {
		name, _, _ := strings.Cut(strings.TrimPrefix(v.what, "/"), "?")
		all = append(all, name)
	}
	return all
}

// namesIn finds a dead letter and its group, and an event with its parent.
func namesIn(t *testing.T, file *inspect.File) *strings.Replacer {
	t.Helper()
	letters, _, err := file.DeadLetters(t.Context(), event.Filter{Subscriptions: []string{"mailer"}}, event.Page{Offset: 50, Limit: 1})
	must(t, err)
	children, _, err := file.Events(t.Context(), event.Filter{CorrelationID: "job"}, event.Page{Limit: 1})
	must(t, err)
	return strings.NewReplacer(
		"DEAD", letters[0].EventID.String(), "GROUP", letters[0].Fingerprint, "SUBSCRIPTION", url.QueryEscape(letters[0].Subscription),
		"CHILD", children[0].ID.String(), "PARENT", children[0].ParentID.String(),
	)
}

// changes are the verbs that only change, and those whose looks are in the table under another name.
var changes = map[string]bool{
	"events publish": true, "events cancel": true, "events discard": true, "dlq edit": true, "dlq import": true, "subscriptions pause": true, "subscriptions resume": true,
	"subscriptions remove": true, "breakers close": true, "inspect": true,
}

func TestTheTableOfWhatIsReadHasEveryVerb(t *testing.T) {
	var visit func(cmd *cobra.Command, path string)
	visit = func(cmd *cobra.Command, path string) {
		for _, sub := range cmd.Commands() {
			visit(sub, strings.TrimSpace(path+" "+sub.Name()))
		}
		if cmd.HasSubCommands() || changes[path] {
			return
		}
		for _, verb := range verbsThatLook {
			if strings.HasPrefix(verb.what, path+" F") {
				return
			}
		}
		t.Errorf("nobody knows how much %q reads", path)
	}
	for _, verb := range Verbs() {
		visit(verb, verb.Name())
	}
}
