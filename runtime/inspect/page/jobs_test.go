package page_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/inspect"
	. "github.com/busgen/busgen/runtime/internal/conformance/inspection"

	"github.com/busgen/busgen/runtime/inspect/page"
)

// on makes a page of a file, on which ada may act.
func on(t *testing.T, file *inspect.File) *page.Page {
	t.Helper()
	p, err := page.New(file, page.WithActions(func(*http.Request) (string, bool) { return "ada", true }))
	Must(t, err)
	t.Cleanup(func() { p.Close() })
	return p
}

// link returns the first link of a page whose address begins with prefix.
func link(t *testing.T, got, prefix string) string {
	t.Helper()
	found := regexp.MustCompile(`href="\.(/` + regexp.QuoteMeta(prefix) + `[^"]*)"`).FindStringSubmatch(got)
	if found == nil {
		t.Fatalf("the page has no link to %s:\n%s", prefix, got)
	}
	return strings.ReplaceAll(found[1], "&amp;", "&")
}

// follow sends a form, and returns the page after it.
func follow(t *testing.T, p http.Handler, path string, fields ...string) (next, got string) {
	t.Helper()
	status, header, text := post(p, path, fields...)
	if status != http.StatusSeeOther {
		t.Fatalf("%s: status %d\n%s", path, status, text)
	}
	next = strings.TrimPrefix(header.Get("Location"), ".")
	return next, shows(t, p, next)
}

// begin begins a job on the only group, with what its plan is asked, and returns the
// address of the job.
func begin(t *testing.T, p http.Handler, kind string, params url.Values) string {
	t.Helper()
	group := shows(t, p, link(t, shows(t, p, "/problems"), "group?"))
	of := regexp.MustCompile(`name="of" value="([^"]*)"`).FindStringSubmatch(group)[1]
	params.Set("of", of)
	params.Set("kind", kind)
	plan := shows(t, p, "/plan?"+params.Encode(), "Nothing is changed yet.")
	next, _ := follow(t, p, "/start-job", formOf(t, plan, "start-job")...)
	return next
}

func TestProblemsAreGroupsByTheirCause(t *testing.T) {
	short.Visit(t, "it fetches many pages")
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.OpenJobs(t)
		f.Failing(func(n int) error {
			if n%3 == 0 {
				return runtime.Permanent(fmt.Errorf("account %d is closed", n))
			}
			return runtime.Permanent(fmt.Errorf("dial tcp 10.0.0.%d:5432: i/o timeout", n))
		})
		p := on(t, f.Inspect().File)
		shows(t, p, "/problems", "There are no dead letters.")
		f.Publish(1, 2)
		time.Sleep(90 * time.Minute)
		f.Publish(3, 4, 5, 6, 7)
		got := shows(t, p, "/problems", "7 dead letters, in 2 groups", "dial tcp &lt;addr&gt;: i/o timeout", "account &lt;n&gt; is closed", "more: 2 in the hour before", "more: 0 in the hour before", ">worker<", ">job.queued<")
		if strings.Index(got, "dial tcp") > strings.Index(got, "account") {
			t.Error("the largest group is not the first")
		}
		group := shows(t, p, link(t, got, "group?"), "dial tcp 10.0.0.7:5432", ">All 5<", "busgen dlq retry ", "more: 2 in the hour before")
		shows(t, p, link(t, group, "letter?"), "dial tcp 10.0.0.7:5432: i/o timeout", "busgen dlq edit ")
		time.Sleep(3 * time.Hour)
		shows(t, p, "/problems", "(quiet)")
		status, _, _ := get(p, "/group?id=nothing")
		if status != http.StatusNotFound {
			t.Errorf("a group that is not there has status %d", status)
		}
	})
}

func TestAJobActsOnAllLettersOfAGroupAndNotOnAPageOfThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 230
		f := SQLite.MakeManyDead(t, n)
		f.Repair()
		i := f.Inspect()
		p := on(t, i.File)
		time.Sleep(time.Second)
		before := i.Actions()
		job := begin(t, p, "retry", url.Values{"canary": {"3"}, "limit": {"200"}})
		if got := i.Actions(); len(got) > len(before)+1 {
			t.Errorf("a dry run is in the audit: %q", got)
		}
		time.Sleep(time.Minute)
		f.Idle()
		shows(t, p, job, "Done: 200 of 200 dead letters retried", "by <bdi>ada</bdi>")
		if seen := f.Seen(); len(seen) != 200 {
			t.Errorf("%d letters were handled", len(seen))
		}
		job = begin(t, p, "discard", url.Values{"reason": {"paid (by hand)"}})
		time.Sleep(time.Minute)
		shows(t, p, job, "Done: 30 of 30 dead letters discarded", "paid (by hand)")
		if left := i.Count(); left != 0 {
			t.Errorf("%d letters are left", left)
		}
		if actions := i.Actions(); len(actions) != 2 || !strings.HasPrefix(actions[0], "ada discard 30: paid (by hand) (group ") {
			t.Errorf("the audit has %q", actions)
		}
		shows(t, p, "/problems", "There are no dead letters.")
	})
}

func TestAJobActsOnThePartOfAGroupThatMatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.MakeManyDead(t, 30) // at once
		time.Sleep(time.Hour)
		later := time.Now().UTC().Format("2006-01-02T15:04")
		f.Publish(100, 101, 102, 1030, 104)
		f.Idle()
		f.Repair()
		i := f.Inspect()
		p := on(t, i.File)
		group := link(t, shows(t, p, "/problems"), "group?")
		for query, want := range map[string]int{
			"": 35, "since=" + later: 5, "until=" + later: 30, "text=job+1": 16, "subscription=worker": 35, "type=job.*": 35, "type=task.*": 0,
			"subscription=nobody": 0, "correlation=x": 0, "text=job+103&since=" + later: 1,
		} {
			got := shows(t, p, group+"&"+query)
			head := fmt.Sprintf(">%d of 35 match<", want)
			switch {
			case query == "":
				head = ">All 35<"
			case want == 1:
				head = ">1 of 35 matches<"
			}
			if !strings.Contains(got, head) || rows(got) != min(want, 25) || strings.Contains(got, "Dry run of a retry") != (want > 0) {
				t.Errorf("%s: %d rows, want %q in\n%s", query, rows(got), head, got)
			}
		}
		for _, wrong := range []string{"since=x", "until=x", "type=order.pla*"} {
			if status, _, _ := get(p, group+"&"+wrong); status != http.StatusBadRequest {
				t.Errorf("%s: status %d", wrong, status)
			}
		}
		query := "&text=job+10&since=" + later
		form := formOf(t, strings.Replace(shows(t, p, group+query, ">5 of 35 match<"), `method="get" action="./plan"`, `action="./plan"`, 1), "plan")
		params := url.Values{"kind": {"retry"}, "canary": {"1"}, "limit": {"4"}}
		for n := 0; n < len(form); n += 2 {
			params.Set(form[n], form[n+1])
		}
		plan := shows(t, p, "/plan?"+params.Encode(), "4 dead letters would be retried, the oldest of 5 that match", "--text &#39;job 10&#39; --since ", "Part of it")
		job, _ := follow(t, p, "/start-job", formOf(t, plan, "start-job")...)
		time.Sleep(time.Minute)
		f.Idle()
		shows(t, p, job, "Done: 4 of 4 dead letters retried", "Part of it", "text &#34;job 10&#34;")
		shows(t, on(t, f.Inspect().File), job, "Done: 4 of 4 dead letters retried") // the audit says so
		if seen := f.Seen(); !slices.Equal(seen, []int{100, 101, 102, 1030}) || i.Count() != 31 {
			t.Errorf("%v were handled, %d are dead", seen, i.Count())
		}
		params.Set("kind", "discard")
		params.Set("reason", "a test; job 1")
		params.Del("limit")
		plan = shows(t, p, "/plan?"+params.Encode(), "1 dead letter would be discarded")
		job, _ = follow(t, p, "/start-job", formOf(t, plan, "start-job")...)
		time.Sleep(time.Minute)
		shows(t, on(t, f.Inspect().File), job, "Done: 1 of 1 dead letter discarded", "a test; job 1")
		if i.Count() != 30 {
			t.Errorf("%d are dead", i.Count())
		}
	})
}

func TestAJobStopsAtItsCanary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.MakeManyDead(t, 50)
		i := f.Inspect()
		p := on(t, i.File)
		job := begin(t, p, "retry", url.Values{"canary": {"3"}})
		shows(t, p, job, "the canary must be handled before the rest follows", ">Stop<")
		time.Sleep(time.Minute)
		shows(t, p, job, "Ended with an error: 3 of 50 dead letters retried, 47 left", "of the 3 dead letters retried first, 3 died again")
		if i.Count() != 50 {
			t.Errorf("%d letters are dead", i.Count())
		}
	})
}

func TestWhatIsLeftOfAJobIsResumedOnAnotherPageAndEachLetterIsRetriedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 300
		f := SQLite.OpenJobs(t)
		f.Failing(func(number int) error { return runtime.Permanent(Broken(number)) })
		f.Publish(Numbers(0, n)...)
		i := f.Inspect()
		tries := make(chan int, 10*n)
		f.Failing(func(number int) error {
			tries <- number
			if number%2 == 0 { // it dies again, and is not retried again by the job
				return runtime.Permanent(Broken(number))
			}
			return nil
		})
		time.Sleep(time.Second)
		p := on(t, i.File)
		job := begin(t, p, "retry", url.Values{"rate": {"10"}})
		for _, stop := range []func(){
			func() { Must(t, p.Close()) }, // as when the process ends
			func() { follow(t, p, "/stop-job", formOf(t, shows(t, p, job), "stop-job")...) },
		} {
			time.Sleep(5 * time.Second)
			stop()
			time.Sleep(time.Second)
			p = on(t, f.Inspect().File)
			got := shows(t, p, job, "Interrupted, or done by another process: ", " left.", ">Resume")
			shows(t, p, "/problems", "Interrupted, or done by another process: ")
			shows(t, p, link(t, got, "group?"), "Interrupted, or done by another process: ")
			follow(t, p, "/resume-job", formOf(t, got, "resume-job")...)
			if status, _, text := post(p, "/resume-job", formOf(t, got, "resume-job")...); status != http.StatusConflict {
				t.Errorf("a job that is done is resumed: %d\n%s", status, text)
			}
		}
		time.Sleep(time.Minute)
		f.Idle()
		shows(t, p, job, "Done: 300 of 300 dead letters retried")
		close(tries)
		var tried []int
		for one := range tries {
			tried = append(tried, one)
		}
		if slices.Sort(tried); !slices.Equal(tried, Numbers(0, n)) {
			t.Errorf("%d attempts for %d letters: %v", len(tried), n, tried)
		}
		if i.Count() != n/2 {
			t.Errorf("%d letters are dead", i.Count())
		}
	})
}

func TestAPageThatOnlyLooksSaysWhatAJobWouldDoAndTheCommandForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.MakeManyDead(t, 4)
		i := f.Inspect()
		p, err := page.New(i.File)
		Must(t, err)
		defer p.Close()
		got := shows(t, p, link(t, shows(t, p, "/problems"), "group?"))
		of := regexp.MustCompile(`name="of" value="([^"]*)"`).FindStringSubmatch(got)[1]
		got = shows(t, p, "/plan?kind=retry&canary=2&rate=5&limit=3&of="+of, "3 dead letters would be retried", "--canary 2 --limit 3 --rate 5 ")
		if strings.Contains(got, `method="post"`) {
			t.Error("a page that only looks has a form that changes something")
		}
		for what, query := range map[string]string{
			"no kind": "", "another kind": "kind=purge", "a limit that is none": "kind=retry&limit=many", "a negative rate": "kind=retry&rate=-1",
			"no number": "kind=retry&rate=NaN", "a discard without a reason": "kind=discard",
		} {
			if status, _, _ := get(p, "/plan?"+query+"&of="+of); status != http.StatusBadRequest {
				t.Errorf("%s: status %d", what, status)
			}
		}
		if status, _, _ := get(p, "/job?id=1"); status != http.StatusBadRequest {
			t.Errorf("a job that is none has status %d", status)
		}
		if status, _, _ := get(p, "/job?id=0192f4f2-1c3a-7b21-8b21-0192f4f21c3a"); status != http.StatusNotFound {
			t.Errorf("a job that is not there has status %d", status)
		}
	})
}

func TestOneLetterIsRetriedDiscardedOrEdited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.MakeDead(t, 1, 2, 3)
		f.Repair()
		i := f.Inspect(inspect.WithEditing(func(_ string, _ int, payload []byte) error {
			var v map[string]int
			return json.Unmarshal(payload, &v)
		}))
		p := on(t, i.File)
		letter := func() string {
			t.Helper()
			return shows(t, p, link(t, shows(t, p, link(t, shows(t, p, "/problems"), "group?")), "letter?"))
		}
		first := letter()
		_, got := follow(t, p, "/retry-letter", formOf(t, first, "retry-letter")...)
		if f.Settle(); !strings.Contains(got, "The dead letter is retried.") || !slices.Equal(f.Seen(), []int{3}) {
			t.Errorf("handled %v\n%s", f.Seen(), got)
		}
		if status, _, got := post(p, "/retry-letter", formOf(t, first, "retry-letter")...); status != http.StatusNotFound || !strings.Contains(got, "handled or purged") {
			t.Errorf("a letter that is not dead is retried: %d\n%s", status, got)
		}
		if status, _, _ := post(p, "/discard-letter", formOf(t, letter(), "discard-letter")...); status != http.StatusBadRequest {
			t.Errorf("a letter is discarded without a reason: %d", status)
		}
		follow(t, p, "/discard-letter", append(formOf(t, letter(), "discard-letter"), "reason", "a test order")...)
		if i.Count() != 1 {
			t.Errorf("%d letters are dead", i.Count())
		}
		fields := formOf(t, letter(), "edit-letter")
		if status, _, _ := post(p, "/edit-letter", append(fields, "payload", `{"number":"x"}`)...); status != http.StatusBadRequest {
			t.Errorf("a payload that is wrong is taken: %d", status)
		}
		if status, _, text := post(p, "/edit-letter", append(fields, "payload", `{"number":7,"x":"`+inspect.HiddenValue+`"}`)...); status != http.StatusBadRequest || !strings.Contains(text, "stands for a value that is not shown") {
			t.Errorf("a payload with hidden values is taken: %d", status)
		}
		status, header, text := post(p, "/edit-letter", append(fields, "payload", `{"number":7}`)...)
		if f.Settle(); status != http.StatusSeeOther || !strings.HasPrefix(header.Get("Location"), "./event?") || !slices.Equal(f.Seen(), []int{3, 7}) {
			t.Errorf("status %d, to %s, handled %v\n%s", status, header.Get("Location"), f.Seen(), text)
		}
	})
}

func TestHostileErrorsAreShownAsTextOnThePagesOfProblems(t *testing.T) {
	short.Visit(t, "it fetches many pages")
	for _, text := range hostile {
		synctest.Test(t, func(t *testing.T) {
			f := SQLite.OpenJobs(t)
			f.Failing(func(int) error { return runtime.Permanent(fmt.Errorf("%s", text)) })
			f.Publish(1, 2)
			p := on(t, f.Inspect().File)
			problems := shows(t, p, "/problems")
			harmless(t, text, problems)
			group := shows(t, p, link(t, problems, "group?"))
			harmless(t, text, group)
			harmless(t, text, shows(t, p, link(t, group, "letter?")))
			reason := text[:min(len(text), 500)]
			job := begin(t, p, "discard", url.Values{"reason": {reason}, "rate": {"1"}})
			harmless(t, text, shows(t, p, job))
			time.Sleep(time.Minute)
			harmless(t, text, shows(t, p, job, "Done: 2 of 2"))
			harmless(t, text, shows(t, p, link(t, shows(t, p, job), "group?"), "This group has no dead letter any more."))
			for _, path := range []string{"/group?id=", "/plan?kind=retry&of=", "/job?id=", "/letter?event=", "/letter?event=0192f4f2-1c3a-7b21-8b21-0192f4f21c3a&subscription="} {
				_, _, got := get(p, path+url.QueryEscape(text[:min(len(text), 5000)]))
				harmless(t, text, got)
			}
		})
	}
}

func TestAFormWithoutARateIsGentle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.OpenJobs(t)
		f.Failing(func(n int) error { return runtime.Permanent(fmt.Errorf("account %d is closed", n)) })
		p := on(t, f.Inspect().File)
		f.Publish(1)
		group := shows(t, p, link(t, shows(t, p, "/problems"), "group?"), `name="rate" inputmode="decimal" pattern="[0-9.]*" value="500"`)
		of := regexp.MustCompile(`name="of" value="([^"]*)"`).FindStringSubmatch(group)[1]
		for _, rate := range []string{"", "&rate=", "&rate=+", "&rate=500"} {
			shows(t, p, "/plan?kind=retry&of="+of+rate, " --rate 500 ", "500 per second")
			shows(t, p, "/plan?kind=discard&reason=old&of="+of+rate, " --rate 500 ", "500 per second")
		}
		got := shows(t, p, "/plan?kind=retry&of="+of+"&rate=0")
		if strings.Contains(got, "--rate") || strings.Contains(got, "per second") {
			t.Errorf("a rate of 0 is one:\n%s", got)
		}
		job := begin(t, p, "retry", url.Values{"rate": {"0"}})
		synctest.Wait()
		if got := shows(t, p, job, "Done: "); strings.Contains(got, "per second") {
			t.Errorf("a job without a rate has one:\n%s", got)
		}
	})
}
