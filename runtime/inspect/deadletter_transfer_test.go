package inspect_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/inspect"
)

// export returns the lines of all letters.
func (i *inspector) export(f inspect.Filter) string {
	i.t.Helper()
	var b bytes.Buffer
	n, err := i.Export(i.t.Context(), &b, f)
	must(i.t, err)
	if lines := strings.Count(b.String(), "\n"); lines != n {
		i.t.Errorf("%d letters were exported in %d lines", n, lines)
	}
	return b.String()
}

func (i *inspector) load(text string) inspect.Counts {
	i.t.Helper()
	counts, err := i.Import(i.t.Context(), strings.NewReader(text))
	must(i.t, err)
	return counts
}

func TestLettersMoveToAnotherFileWithAllThatIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := threeKinds(t, 250)
		note := "<b>&\u2028ü"
		must(t, second(runtime.Publish(t.Context(), from.Bus, jobType, job{Number: 2, Note: &note})))
		from.idle()
		lines := from.inspect().export(inspect.Filter{})

		to := openJobs(t)
		i := to.inspect()
		if got := i.load(lines); got != (inspect.Counts{Matched: 251, Moved: 251}) {
			t.Errorf("imported %+v", got)
		}
		if again := i.export(inspect.Filter{}); again != lines {
			t.Errorf("the other file has\n%.600s\nwant\n%.600s", again, lines)
		}
		if got := i.load(lines); got != (inspect.Counts{Matched: 251, Skipped: 251}) {
			t.Errorf("imported again: %+v", got)
		}
		detail, err := i.DeadLetter(t.Context(), i.newest().Key)
		must(t, err)
		if detail.MadeFrom != nil {
			t.Errorf("an imported event is made from %v", detail.MadeFrom)
		}
		must(t, second(i.Retry(t.Context(), inspect.Selection{})))
		to.settle()
		seen := to.seen()
		if slices.Sort(seen); len(seen) != 251 || seen[0] != 0 || seen[250] != 249 {
			t.Errorf("handled %d there: %v", len(seen), seen)
		}
		if got := i.load(lines); got != (inspect.Counts{Matched: 251, Skipped: 251}) {
			t.Errorf("imported what was handled: %+v", got)
		}
		if got, want := i.actions(), []string{"ada retry 251: all", "ada import 251: "}; !slices.Equal(got, want) {
			t.Errorf("the audit says %q", got)
		}
	})
}

func TestAnExportHasTheLettersOfTheFilterFromTheOldestOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := bury(t, 1, 2, 3).inspect()
		letters := i.list(inspect.Filter{})
		var got []int
		for line := range strings.Lines(i.export(inspect.Filter{Since: letters[1].DeadAt})) {
			var l inspect.DeadLetter
			must(t, json.Unmarshal([]byte(line), &l))
			got = append(got, numbersOf([]inspect.DeadLetter{l})...)
		}
		if !slices.Equal(got, []int{2, 3}) {
			t.Errorf("exported %v, want 2 and 3", got)
		}
	})
}

func TestALineOfAnExportHasTheFieldsOfTheDocumentation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := bury(t, 7).inspect()
		l := i.newest()
		want := fmt.Sprintf(`{"event_id":"%s","subscription":"worker","type":"job.queued","version":1,"payload":{"number":7},"metadata":{"from":"test"},`+
			`"published_at":"2000-01-01T00:00:00Z","dead_at":"%s","reason":"max_attempts","fingerprint":"%s","failures":2,"attempts":[`+
			`{"kind":"error","started_at":"2000-01-01T00:00:00Z","ended_at":"2000-01-01T00:00:00Z","error":"job 7: out of order","error_type":"%s"},`+
			`{"kind":"error","started_at":"2000-01-01T00:00:01Z","ended_at":"2000-01-01T00:00:01Z","error":"job 7: out of order","error_type":"%[4]s"}]}`+"\n",
			l.EventID, l.DeadAt.Format(time.RFC3339Nano), l.Fingerprint, l.Attempts[0].ErrorType)
		if got := i.export(inspect.Filter{}); got != want {
			t.Errorf("the line is\n%swant\n%s", got, want)
		}
	})
}

func TestAnImportedEventIsForTheSubscriptionsOfItsLettersOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := bury(t, 1)
		line := from.inspect().export(inspect.Filter{})
		both := line + strings.Replace(line, `"worker"`, `"mirror"`, 1)

		to := openJobs(t)
		seen := map[string]int{}
		listen := func(name string, opts ...runtime.SubscribeOption) {
			must(t, second(runtime.SubscribePattern(to.Bus, "*", name, func(context.Context, runtime.Event[runtime.Raw]) error {
				seen[name]++
				return nil
			}, opts...)))
		}
		listen("mirror")
		listen("bystander")
		i := to.inspect()
		if got := i.load(both); got != (inspect.Counts{Matched: 2, Moved: 2}) {
			t.Errorf("imported %+v", got)
		}
		if got := queryRow(t, to.path, "SELECT count(*), min(status) FROM events"); got != "1|dlq" {
			t.Errorf("the events are %s", got)
		}
		listen("late", runtime.FromBeginning())
		to.settle()
		if len(seen) != 0 {
			t.Errorf("an event that nobody has retried was handled: %v", seen)
		}
		must(t, second(i.Retry(t.Context(), inspect.Selection{})))
		to.settle()
		if seen["mirror"] != 1 || len(seen) != 1 || len(to.seen()) != 1 {
			t.Errorf("handled %v and %v, want once by each that had failed", seen, to.seen())
		}
		if got := queryRow(t, to.path, "SELECT count(*), min(status) FROM events"); got != "1|done" {
			t.Errorf("the events are %s", got)
		}
	})
}

func TestWhatWasPurgedComesBackAndWhatIsOpenDoesNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := bury(t, 1, 2, 3, 4)
		i := f.inspect()
		lines := i.export(inspect.Filter{})
		letters := i.list(inspect.Filter{})
		f.stop()
		must(t, second(i.Purge(t.Context(), inspect.Selection{Filter: inspect.Filter{Until: letters[3].DeadAt}}))) // 1
		must(t, second(i.Retry(t.Context(), inspect.Only(letters[2].Key))))                                        // 2
		must(t, second(i.DiscardDeadLetters(t.Context(), inspect.Only(letters[1].Key), "nobody cares")))           // 3
		if got := i.load(lines); got != (inspect.Counts{Matched: 4, Moved: 1, Skipped: 3}) {
			t.Errorf("imported %+v", got)
		}
		if got := numbersOf(i.list(inspect.Filter{})); !slices.Equal(got, []int{4, 1}) {
			t.Errorf("the letters are %v, want 4 and 1", got)
		}
		if got := queryRow(t, f.path, "SELECT count(*), (SELECT count(*) FROM origins) FROM log"); got != "4|0" {
			t.Errorf("events and origins are %s, want those that were there", got)
		}
	})
}

func TestALetterThatWasNeverTriedStaysDiscarded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := bury(t, 1)
		execute(t, f.path, "DELETE FROM attempts; UPDATE deliveries SET reason = 'expired'")
		i := f.inspect()
		line := i.export(inspect.Filter{})
		must(t, second(i.DiscardDeadLetters(t.Context(), inspect.Selection{}, "nobody cares")))
		if got := i.load(line); got != (inspect.Counts{Matched: 1, Skipped: 1}) {
			t.Errorf("imported %+v from %s", got, line)
		}
	})
}

func TestALetterOfAnEventThatHasYetToBeDeliveredIsSkipped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := bury(t, 1)
		i := f.inspect()
		line := i.export(inspect.Filter{})
		f.stop()
		// The subscription's cursor is set back, as in an older copy of the file.
		execute(t, f.path, "DELETE FROM deliveries; DELETE FROM attempts; UPDATE subscriptions SET cursor = 0")
		if got := i.load(line); got != (inspect.Counts{Matched: 1, Skipped: 1}) {
			t.Errorf("imported %+v", got)
		}
	})
}

func TestALineThatCannotBeTakenIsNamedAndThoseBeforeItAreThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lines := slices.Collect(strings.Lines(buryMany(t, 3).inspect().export(inspect.Filter{})))
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
			"another one":         {replace(`"worker"`, `"nobody"`), `the file has no subscription "nobody": subscribe it first`},
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
			i := openJobs(t).inspect()
			counts, err := i.Import(t.Context(), strings.NewReader("\n"+lines[0]+" \n"+test.line))
			broken, ok := errors.AsType[*inspect.ImportError](err)
			if !ok || broken.Line != 4 || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: %v, want line 4: %s", name, err, test.want)
			}
			if counts.Moved != 1 || i.count() != 1 {
				t.Errorf("%s: imported %+v, want the line before it", name, counts)
			}
			must(t, i.Close())
		}
	})
}

func TestALetterWithoutFingerprintGetsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := bury(t, 1)
		from := f.inspect()
		want := from.newest().Fingerprint
		line := strings.Replace(from.export(inspect.Filter{}), want, "", 1)
		i := openJobs(t).inspect()
		i.load(line)
		if got := i.newest().Fingerprint; got != want {
			t.Errorf("the fingerprint is %q, want %q", got, want)
		}
	})
}

func TestAPayloadIsKeptByteForByte(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for stored, want := range map[string]string{
			`'{"number":1,"note":"<&\u2028>"}'`: `{"number":1,"note":"<&\u2028>"}`,
			`CAST(x'7b00ff22' AS TEXT)`:         "{\x00\xff\"", // no JSON at all
		} {
			f := bury(t, 1)
			execute(t, f.path, "UPDATE log SET payload = "+stored)
			line := f.inspect().export(inspect.Filter{})
			i := openJobs(t).inspect()
			i.load(line)
			if got := i.newest().Payload; string(got) != want {
				t.Errorf("the payload is %q from %s", got, line)
			}
		}
	})
}
