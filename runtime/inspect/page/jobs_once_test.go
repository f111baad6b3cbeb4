package page_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/busgen/busgen/runtime/internal/conformance/inspection"
)

// plan returns the form of a plan for a part of the only group.
func planOf(t *testing.T, p http.Handler, kind string, params url.Values) (got string, fields []string) {
	t.Helper()
	id, err := url.Parse(link(t, shows(t, p, "/problems"), "group?"))
	Must(t, err)
	params.Set("of", id.Query().Get("id"))
	params.Set("kind", kind)
	got = shows(t, p, "/plan?"+params.Encode(), "Nothing is changed yet.")
	return got, formOf(t, got, "start-job")
}

func TestAPlanThatIsPostedTwiceIsOneJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.MakeManyDead(t, 30)
		f.Repair()
		p := on(t, f.Inspect().File)
		_, fields := planOf(t, p, "retry", url.Values{"limit": {"10"}})
		first, _ := follow(t, p, "/start-job", fields...)
		at, got := follow(t, p, "/start-job", fields...)
		if same := strings.Split(at, "&")[0]; !strings.Contains(got, "This job was begun before") || strings.Split(first, "&")[0] == "" || !strings.HasPrefix(same, "/job?") {
			t.Errorf("it leads from %s to %s\n%s", first, at, got)
		}
		time.Sleep(time.Minute)
		f.Idle()
		follow(t, p, "/start-job", fields...)
		// Another page of the same file has it from the audit.
		follow(t, on(t, f.Inspect().File), "/start-job", fields...)
		time.Sleep(time.Minute)
		f.Idle()
		if seen := f.Seen(); len(seen) != 10 {
			t.Errorf("%d letters were handled, want 10", len(seen))
		}
		if jobs := shows(t, p, "/jobs", "Done: 10 of 10 dead letters retried", "by <bdi>ada</bdi>"); strings.Count(jobs, "./job?id=") != 1 {
			t.Errorf("the jobs are\n%s", jobs)
		}
		shows(t, p, "/problems", `href="./jobs"`)
	})
}

func TestAPlanSaysWhatStandsInTheWayOfARetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.MakeManyDead(t, 3)
		i := f.Inspect()
		p := on(t, i.File)
		if got, _ := planOf(t, p, "retry", url.Values{}); strings.Contains(got, "stands in the way") {
			t.Errorf("nothing is in the way:\n%s", got)
		}
		Must(t, i.PauseSubscription(t.Context(), "worker", "no paper"))
		got, _ := planOf(t, p, "retry", url.Values{})
		if !strings.Contains(got, "What stands in the way") || !strings.Contains(got, "It has been paused for ") || !strings.Contains(got, "no paper") {
			t.Errorf("a pause is in the way:\n%s", got)
		}
		if got, _ := planOf(t, p, "discard", url.Values{"reason": {"x"}}); strings.Contains(got, "stands in the way") {
			t.Errorf("nothing is in the way of a discard:\n%s", got)
		}
		f.Stop()
		if got, _ := planOf(t, p, "retry", url.Values{}); !strings.Contains(got, "No process dispatches") {
			t.Errorf("no process is there:\n%s", got)
		}
	})
}
