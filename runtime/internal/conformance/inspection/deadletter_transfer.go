package inspection

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
)

// export returns the lines of all letters.
func (i *Inspector) ExportText(f event.Filter) string {
	i.t.Helper()
	var b bytes.Buffer
	n, err := i.Export(i.t.Context(), &b, f)
	Must(i.t, err)
	if lines := strings.Count(b.String(), "\n"); lines != n {
		i.t.Errorf("%d letters were exported in %d lines", n, lines)
	}
	return b.String()
}

func (i *Inspector) Load(text string) inspect.Counts {
	i.t.Helper()
	counts, err := i.Import(i.t.Context(), strings.NewReader(text))
	Must(i.t, err)
	return counts
}

func (env *Env) TestDeadLettersMoveToAnotherFileWithAllThatIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := env.threeKinds(t, 250)
		note := "<b>&\u2028ü"
		Must(t, Second(runtime.Publish(t.Context(), from.Bus, jobType, job{Number: 2, Note: &note})))
		from.Idle()
		lines := from.Inspect().ExportText(event.Filter{})

		to := env.OpenJobs(t)
		i := to.Inspect()
		if got := i.Load(lines); got != (inspect.Counts{Matched: 251, Moved: 251}) {
			t.Errorf("imported %+v", got)
		}
		if again := i.ExportText(event.Filter{}); again != lines {
			t.Errorf("the other file has\n%.600s\nwant\n%.600s", again, lines)
		}
		if got := i.Load(lines); got != (inspect.Counts{Matched: 251, Skipped: 251}) {
			t.Errorf("imported again: %+v", got)
		}
		detail, err := i.DeadLetter(t.Context(), i.Newest().Key)
		Must(t, err)
		if detail.MadeFrom != nil {
			t.Errorf("an imported event is made from %v", detail.MadeFrom)
		}
		Must(t, Second(i.Retry(t.Context(), inspect.Selection{})))
		to.Settle()
		seen := to.Seen()
		if slices.Sort(seen); len(seen) != 251 || seen[0] != 0 || seen[250] != 249 {
			t.Errorf("handled %d there: %v", len(seen), seen)
		}
		if got := i.Load(lines); got != (inspect.Counts{Matched: 251, Skipped: 251}) {
			t.Errorf("imported what was handled: %+v", got)
		}
		if got, want := i.Actions(), []string{"ada retry 251: all", "ada import 251: "}; !slices.Equal(got, want) {
			t.Errorf("the audit says %q", got)
		}
	})
}

func (env *Env) TestWhatAnAttemptHasLoggedMovesToAnotherFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		line := env.MakeDead(t, 1).Inspect().ExportText(event.Filter{})
		line = strings.Replace(line, `"error_type"`, `"log":"level=INFO msg=\"one\"\nlevel=WARN msg=two\n","error_type"`, 1)
		i := env.OpenJobs(t).Inspect()
		i.Load(line)
		attempts := i.Newest().Attempts
		if got := attempts[0].Log; got != "level=INFO msg=\"one\"\nlevel=WARN msg=two\n" || attempts[1].Log != "" {
			t.Errorf("the attempts have logged %q and %q", got, attempts[1].Log)
		}
		if text := i.ExportText(event.Filter{}); strings.Count(text, `"log":"level=INFO msg=\"one\"\nlevel=WARN msg=two\n"`) != 1 {
			t.Errorf("it is exported as %s", text)
		}
	})
}

func (env *Env) TestAnExportHasTheDeadLettersOfTheFilterOldestFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := env.MakeDead(t, 1, 2, 3).Inspect()
		letters := i.List(event.Filter{})
		var got []int
		for line := range strings.Lines(i.ExportText(event.Filter{Since: letters[1].DeadAt})) {
			var l event.DeadLetter
			Must(t, json.Unmarshal([]byte(line), &l))
			got = append(got, NumbersOf([]event.DeadLetter{l})...)
		}
		if !slices.Equal(got, []int{2, 3}) {
			t.Errorf("exported %v, want 2 and 3", got)
		}
	})
}

func (env *Env) TestALineOfAnExportHasTheFieldsOfTheDocumentation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := env.MakeDead(t, 7).Inspect()
		l := i.Newest()
		want := fmt.Sprintf(`{"event_id":"%s","subscription":"worker","type":"job.queued","version":1,"payload":{"number":7},"metadata":{"from":"test"},`+
			`"published_at":"2000-01-01T00:00:00Z","dead_at":"%s","reason":"max_attempts","fingerprint":"%s","failures":2,"attempts":[`+
			`{"kind":"error","started_at":"2000-01-01T00:00:00Z","ended_at":"2000-01-01T00:00:00Z","error":"job 7: out of order","error_type":"%s"},`+
			`{"kind":"error","started_at":"2000-01-01T00:00:01Z","ended_at":"2000-01-01T00:00:01Z","error":"job 7: out of order","error_type":"%[4]s"}]}`+"\n",
			l.EventID, l.DeadAt.Format(time.RFC3339Nano), l.Fingerprint, l.Attempts[0].ErrorType)
		if got := i.ExportText(event.Filter{}); got != want {
			t.Errorf("the line is\n%swant\n%s", got, want)
		}
	})
}

func (env *Env) TestAnImportNamesABadLineAndKeepsTheLinesBeforeIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lines := slices.Collect(strings.Lines(env.MakeManyDead(t, 3).Inspect().ExportText(event.Filter{})))
		replace := func(old, new string) string {
			if !strings.Contains(lines[1], old) {
				t.Fatalf("there is no %s in %s", old, lines[1])
			}
			return strings.Replace(lines[1], old, new, 1)
		}
		for name, test := range map[string]struct{ line, want string }{
			"no JSON":             {"hello\n", "this is not a line of JSON"},
			"no object":           {"[1]\n", "this is not a dead letter"},
			"an unknown field":    {replace(`"type"`, `"typ"`), `unknown field "typ"`},
			"no event":            {replace(lines[1][:50], `{"event_id":"00000000-0000-0000-0000-000000000000"`), "event_id is missing"},
			"no subscription":     {replace(`"worker"`, `""`), "subscription is missing"},
			"another one":         {replace(`"worker"`, `"nobody"`), `the bus has no subscription "nobody": subscribe it first`},
			"no payload":          {replace(`"payload":{"number"`, `"metadata":{"number"`), "payload is missing"},
			"no time of death":    {replace(`"dead_at":"2`, `"dead_at":"0001-01-01T00:00:00Z","published_at":"2`), "dead_at is missing"},
			"no publication":      {replace(`"published_at":"2`, `"published_at":"0001-01-01T00:00:00Z","dead_at":"2`), "published_at is missing"},
			"an unknown reason":   {replace("max_attempts", "timeout"), `reason "timeout" is not one of max_attempts`},
			"a type with a glob":  {replace("job.queued", "job.*"), `"job.*"`},
			"an unknown kind":     {replace(`"kind":"error"`, `"kind":"oops"`), `an attempt has kind "oops"`},
			"another payload":     {strings.Replace(lines[0], `"number":`, `"number":9`, 1), "with another type or payload"},
			"another type":        {strings.Replace(lines[0], `job.queued`, `task.queued`, 1), "with another type or payload"},
			"a line without end":  {lines[1][:60], "this is not a line of JSON"},
			"two letters at once": {strings.TrimSuffix(lines[1], "\n") + lines[2], "this is not a line of JSON"},
		} {
			i := env.OpenJobs(t).Inspect()
			counts, err := i.Import(t.Context(), strings.NewReader("\n"+lines[0]+" \n"+test.line))
			broken, ok := errors.AsType[*event.ImportError](err)
			if !ok || broken.Line != 4 || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: %v, want line 4: %s", name, err, test.want)
			}
			if counts.Moved != 1 || i.Count() != 1 {
				t.Errorf("%s: imported %+v, want the line before it", name, counts)
			}
			Must(t, i.Close())
		}
	})
}

func (env *Env) TestADeadLetterWithoutAFingerprintGetsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.MakeDead(t, 1)
		from := f.Inspect()
		want := from.Newest().Fingerprint
		line := strings.Replace(from.ExportText(event.Filter{}), want, "", 1)
		i := env.OpenJobs(t).Inspect()
		i.Load(line)
		if got := i.Newest().Fingerprint; got != want {
			t.Errorf("the fingerprint is %q, want %q", got, want)
		}
	})
}
