package page_test

import (
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect/page"
	. "github.com/busgen/busgen/runtime/internal/conformance/inspection"
)

// typed returns what the form of a page has in a textarea.
func typed(t *testing.T, got, name string) string {
	t.Helper()
	found := regexp.MustCompile(`(?s)<textarea name="` + name + `"[^>]*>\n(.*?)</textarea>`).FindStringSubmatch(got)
	if found == nil {
		t.Fatalf("the page has no %s:\n%s", name, got)
	}
	return html.UnescapeString(found[1])
}

func TestAnEventIsPublishedOnThePageAfterItWasChecked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.OpenJobs(t)
		i := f.Inspect(Editing)
		p := on(t, i.File)
		shows(t, p, "/events", `href="./publish"`)
		shows(t, p, "/publish", `action="./check-event"`, "busgen events publish ", "TYPE &#39;{…}&#39;")
		fields := []string{"type", "job.queued", "payload", "{\"number\":\r\n 7}", "key", "k\u202e7", "delay", "2m", "metadata", "why=a test\r\n"}
		status, _, checked := post(p, "/check-event", fields...)
		for _, want := range []string{"The payload fits. 1 subscription would get the event, in <bdi>2m</bdi>", "Nothing is published yet.", "--delay 2m", "--metadata &#39;why=a test&#39;"} {
			if status != http.StatusOK || !strings.Contains(checked, want) {
				t.Errorf("checked, status %d: lacks %q\n%s", status, want, checked)
			}
		}
		if n := len(i.Actions()); n > 0 {
			t.Errorf("a check is in the audit: %q", i.Actions())
		}
		sure := append(formOf(t, checked, "publish-event"), "payload", typed(t, checked, "payload"))
		next, _ := follow(t, p, "/publish-event", sure...)
		if !strings.HasPrefix(next, "/event?") {
			t.Errorf("it leads to %s", next)
		}
		time.Sleep(time.Minute)
		if got := f.Seen(); len(got) > 0 {
			t.Errorf("before the delay is over handled were %v", got)
		}
		time.Sleep(2 * time.Minute)
		if got := f.Seen(); len(got) != 1 || got[0] != 7 {
			t.Errorf("handled were %v", got)
		}
		entries, _, err := i.Audit(t.Context(), event.AuditFilter{}, event.Page{})
		Must(t, err)
		if len(entries) != 1 || entries[0].Actor != "ada" || entries[0].Action != "publish" {
			t.Errorf("the audit has %+v", entries)
		}
		_, again := follow(t, p, "/publish-event", sure...)
		if !strings.Contains(again, "Nothing was published: this event of type job.queued has the key.") {
			t.Errorf("once more:\n%s", again)
		}
	})
}

func TestAnEventThatIsRefusedStaysInTheForm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.OpenJobs(t)
		i := f.Inspect(Editing)
		p := on(t, i.File)
		for what, c := range map[string]struct {
			status int
			fields []string
			why    string
		}{
			"no type":         {http.StatusBadRequest, []string{"payload", "{}"}, "of which type"},
			"a wrong type":    {http.StatusNotFound, []string{"type", "job.quedue", "payload", `{"number":1}`}, "job.quedue"},
			"a wrong payload": {http.StatusBadRequest, []string{"type", "job.queued", "payload", `{"number":-1}`}, "number"},
			"no JSON":         {http.StatusBadRequest, []string{"type", "job.queued", "payload", `{"number":`}, ""},
			"a wrong delay":   {http.StatusBadRequest, []string{"type", "job.queued", "payload", `{"number":1}`, "delay", "soon"}, "want a length of time"},
			"wrong metadata":  {http.StatusBadRequest, []string{"type", "job.queued", "payload", `{"number":1}`, "metadata", "why"}, "want name=value"},
			"a huge payload":  {http.StatusBadRequest, []string{"type", "job.queued", "payload", strings.Repeat("1", 30_000)}, "use the command"},
		} {
			for _, action := range []string{"/check-event", "/publish-event"} {
				status, _, got := post(p, action, c.fields...)
				if status != c.status || !strings.Contains(got, "Nothing was published.") || !strings.Contains(got, c.why) || !strings.Contains(got, `action="./check-event"`) {
					t.Errorf("%s, %s: status %d\n%s", what, action, status, got)
				}
			}
		}
		other := []string{"type", "job.queued", "payload", `{"number":2}`, "key", "k"}
		Must(t, Second(i.Publish(t.Context(), nil)))
		follow(t, p, "/publish-event", "type", "job.queued", "payload", `{"number":1}`, "key", "k")
		if status, _, got := post(p, "/publish-event", other...); status != http.StatusBadRequest || !strings.Contains(got, "Nothing was published.") {
			t.Errorf("a key with another payload: status %d\n%s", status, got)
		}
		f.Settle()
		if got := f.Seen(); len(got) != 1 {
			t.Errorf("handled were %v", got)
		}
	})
}

func TestTheFormOfAnEventBeginsWithASample(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.OpenJobs(t)
		p := pageOf(t, &Fixture{File: f.Inspect(Editing).File}, page.WithSource(source(t, documented)), page.WithActions(func(*http.Request) (string, bool) { return "ada", true }))
		if got := typed(t, shows(t, p, "/publish?type=order.placed"), "payload"); !strings.Contains(got, `"number": `) {
			t.Errorf("the sample is %s", got)
		}
		shows(t, p, "/type?name=order.placed", `href="./publish?type=order.placed"`)
	})
}

func TestAPageThatCannotCheckEventsPublishesNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.OpenJobs(t)
		if got := shows(t, on(t, f.Inspect().File), "/publish", "without a check of payloads", "busgen events publish "); strings.Contains(got, "<form") {
			t.Error("there is a form")
		}
		looks, err := page.New(f.Inspect(Editing).File)
		Must(t, err)
		defer looks.Close()
		if got := shows(t, looks, "/publish", "This page only looks.", "busgen events publish "); strings.Contains(got, "<form") {
			t.Error("a page that only looks has a form")
		}
	})
}
