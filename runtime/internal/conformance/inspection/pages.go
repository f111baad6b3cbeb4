package inspection

import (
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/inspect/page"
)

// visitor is an operator without JavaScript.
type visitor struct {
	t *testing.T
	http.Handler
}

// visit opens the page of a file, on which ada may act.
func visit(t *testing.T, file *inspect.File) visitor {
	t.Helper()
	p, err := page.New(file, page.WithActions(func(*http.Request) (string, bool) { return "ada", true }))
	Must(t, err)
	t.Cleanup(func() { p.Close() })
	return visitor{t, p}
}

func (v visitor) do(r *http.Request) (status int, location, text string) {
	w := httptest.NewRecorder()
	v.ServeHTTP(w, r)
	return w.Code, strings.TrimPrefix(w.Header().Get("Location"), "."), w.Body.String()
}

// shows wants a page with a text.
func (v visitor) shows(path, want string) string {
	v.t.Helper()
	status, _, text := v.do(httptest.NewRequest("GET", path, nil))
	if status != http.StatusOK || !strings.Contains(html.UnescapeString(text), want) {
		v.t.Errorf("%s: status %d, want %q in\n%s", path, status, want, text)
	}
	return text
}

// press sends the form of an action on a page, with what is typed (name, value, …), and wants
// a text on the page that follows, also if that is "refused: " and why. It returns the address
// of that page.
func (v visitor) press(on, action, want string, typed ...string) (next string) {
	v.t.Helper()
	text := v.shows(on, "")
	_, form, found := strings.Cut(text, `action="./`+action+`"`)
	if !found {
		v.t.Fatalf("%s has no form %s:\n%s", on, action, text)
	}
	form, _, _ = strings.Cut(form, "</form>")
	fields := url.Values{}
	for _, m := range regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`).FindAllStringSubmatch(form, -1) {
		fields.Set(m[1], html.UnescapeString(m[2]))
	}
	for n := 0; n < len(typed); n += 2 {
		fields.Set(typed[n], typed[n+1])
	}
	r := httptest.NewRequest("POST", "/"+action, strings.NewReader(fields.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	status, next, text := v.do(r)
	if status == http.StatusSeeOther {
		status, _, text = v.do(httptest.NewRequest("GET", next, nil))
	}
	refused := status == http.StatusBadRequest && strings.HasPrefix(want, "refused: ")
	want = strings.TrimPrefix(want, "refused: ")
	text = html.UnescapeString(text)
	if status != http.StatusOK && !refused || !strings.Contains(text, want) {
		v.t.Errorf("%s on %s: status %d, want %q in\n%s", action, on, status, want, text)
	}
	return next
}

// link returns the first link on a page whose address begins so.
func (v visitor) link(on, prefix string) string {
	v.t.Helper()
	text := v.shows(on, "")
	found := regexp.MustCompile(`href="\.(/` + regexp.QuoteMeta(prefix) + `[^"]*)"`).FindStringSubmatch(text)
	if found == nil {
		v.t.Fatalf("%s has no link to %s:\n%s", on, prefix, text)
	}
	return html.UnescapeString(found[1])
}

// TestEveryPageIsShownAndEveryActionIsDone goes through the page of operators.
func (env *Env) TestEveryPageIsShownAndEveryActionIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.MakeManyDead(t, 20)
		f.Repair()
		i := f.Inspect(inspect.WithEditing(jobCatalogue.Check))
		v := visit(t, i.File)
		time.Sleep(time.Second)
		for path, want := range map[string]string{
			"/": "dead letters are to be looked at", "/problems": "20 dead letters, in 1 group", "/events": "job.queued", "/subscriptions": "worker",
			"/events?type=job.*&status=dlq&text=number": "job.queued", "/catalogue": "job.queued", "/type?name=job.queued": "job.queued", "/audit": "Audit",
		} {
			v.shows(path, want)
		}
		group := v.link("/problems", "group?")
		v.shows(group, "All 20")
		letter, event := v.link(group, "letter?"), v.link("/events", "event?")
		v.shows(letter, "Last error")
		v.shows(event[:len(event)-4], "worker") // by the beginning of its id
		v.shows(v.link(group, "incident.html?"), "job.queued")
		v.shows(v.link(event, "incident.html?"), "job.queued")
		v.shows("/text?of=payload&"+strings.TrimPrefix(event, "/event?"), `"number"`)

		v.press("/", "pause", "Subscription worker is paused.", "reason", "a test")
		v.press("/", "resume", "Subscription worker is resumed.")
		v.press("/plan-pause?pattern=job.*", "pause-types", "Events of type job.* are paused: job.queued.")
		v.press("/", "resume-types", "Events of type job.* are resumed.")
		v.press(letter, "edit-letter", "refused: does not fit int</bdi> Nothing was changed.", "payload", `{"number":"x"}`)
		v.press(letter, "edit-letter", `refused: {"number":"typed"}</textarea>`, "payload", `{"number":"typed"}`)
		v.press(letter, "edit-letter", "was made from the dead letter", "payload", `{"number":77}`)
		v.press(v.link(group, "letter?"), "retry-letter", "The dead letter is retried.")
		f.Settle()
		v.press(v.link(group, "letter?"), "discard-letter", "The dead letter is discarded.", "reason", "a test")
		dead := strings.Replace(v.link(group, "letter?"), "/letter?event=", "/event?id=", 1)
		v.press(dead, "discard-dead", "The dead letter of worker is discarded.", "reason", "a test")
		v.press(dead, "undiscard", "The event is a dead letter of worker again.")
		dead = strings.Replace(v.link(group, "letter?"), "/letter?event=", "/event?id=", 1)
		v.press(dead, "retry-delivery", "The dead letter of worker is retried.")
		f.Settle()
		v.press(dead, "replay-event", "worker handles the event again.")
		receipt, err := runtime.Publish(t.Context(), f.Bus, jobType, job{Number: 500}, runtime.WithDelay(time.Hour))
		Must(t, err)
		v.press("/event?id="+receipt.ID.String(), "discard-delivery", "worker will not handle the event.", "reason", "a test")
		v.press("/plan-replay?subscription=worker&from=beginning", "replay", "worker handles ")
		f.Settle()

		of := regexp.MustCompile(`name="of" value="([^"]*)"`).FindStringSubmatch(v.shows(group, ""))[1]
		plan := func(query string) string { return "/plan?of=" + url.QueryEscape(html.UnescapeString(of)) + "&" + query }
		v.press(plan("kind=discard&limit=2&reason=a+test"), "start-job", "Discard of a group")
		time.Sleep(time.Minute)
		slow := v.press(plan("kind=retry&rate=0.1&canary=1"), "start-job", "The job has begun.")
		time.Sleep(15 * time.Second)
		v.press(slow, "stop-job", "The job stops.")
		time.Sleep(time.Second)
		v.press(slow, "resume-job", "The job goes on.")
		time.Sleep(time.Hour)
		f.Idle()
		v.shows(slow, "Done: ")
		v.shows("/problems", "There are no dead letters.")
		v.shows("/audit", "ada")
	})
}

func (env *Env) TestACircuitBreakerIsClosedOnThePage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var broken atomic.Bool
		f, _ := env.Opened(t, &broken, &Handled{})
		v := visit(t, f.File)
		broken.Store(false)
		v.press("/", "close-breaker", "None is open.")
	})
}
