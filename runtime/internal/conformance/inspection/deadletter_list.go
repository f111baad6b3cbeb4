package inspection

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
)

// jan is a moment long ago.
func jan(day int) time.Time { return time.Date(1999, 1, day, 0, 0, 0, 0, time.UTC) }

func (env *Env) TestListsAreInPagesNewestFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := env.MakeDead(t, 1, 2, 3, 4).Inspect()
		for name, test := range map[string]struct {
			page event.Page
			want []int
			more bool
		}{
			"all of them":    {event.Page{}, []int{4, 3, 2, 1}, false},
			"the first page": {event.Page{Limit: 3}, []int{4, 3, 2}, true},
			"the last page":  {event.Page{Offset: 3, Limit: 3}, []int{1}, false},
			"a full page":    {event.Page{Limit: 4}, []int{4, 3, 2, 1}, false},
			"past the end":   {event.Page{Offset: 4}, nil, false},
		} {
			letters, next, err := i.DeadLetters(t.Context(), event.Filter{}, test.page)
			Must(t, err)
			if got := NumbersOf(letters); !slices.Equal(got, test.want) || (next != "") != test.more {
				t.Errorf("%s: got %v and then %q, want %v", name, got, next, test.want)
			}
		}
		if n := i.Count(); n != 4 {
			t.Errorf("counted %d, want 4", n)
		}
		for _, page := range []event.Page{{Offset: -1}, {Limit: -1}, {After: "x"}, {After: "!"}} {
			if _, _, err := i.DeadLetters(t.Context(), event.Filter{}, page); err == nil {
				t.Errorf("the page %+v was accepted", page)
			}
		}
	})
}

func (env *Env) TestACursorGoesOnWhereThePageEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.MakeManyDead(t, 7) // at the same moment
		i := f.Inspect()
		all := NumbersOf(i.List(event.Filter{}))
		var got []int
		page := event.Page{Limit: 3}
		for {
			letters, next, err := i.DeadLetters(t.Context(), event.Filter{}, page)
			Must(t, err)
			got = append(got, NumbersOf(letters)...)
			if next == "" {
				break
			}
			page.After = next
			time.Sleep(time.Minute)
			f.Publish(100) // what dies meanwhile does not move the rest
		}
		if !slices.Equal(got, all) {
			t.Errorf("the pages hold %v, want %v", got, all)
		}
		letters, _, err := i.DeadLetters(t.Context(), event.Filter{}, event.Page{After: page.After, Offset: 1})
		Must(t, err)
		if len(letters) != 0 {
			t.Errorf("passing over the last one leaves %v", NumbersOf(letters))
		}
	})
}

func (env *Env) TestAPageHasAHundredItemsByDefault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		letters, _, err := env.MakeManyDead(t, 105).Inspect().DeadLetters(t.Context(), event.Filter{}, event.Page{})
		Must(t, err)
		if len(letters) != event.DefaultLimit || event.DefaultLimit != 100 {
			t.Errorf("a page holds %d", len(letters))
		}
	})
}

func (env *Env) TestADeadLetterHoldsEverythingThatIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		i := env.MakeDead(t, 7).Inspect()
		letter, err := i.DeadLetter(t.Context(), i.Newest().Key)
		Must(t, err)
		if letter.Type != "job.queued" || letter.Subscription != "worker" || letter.Reason != "max_attempts" || letter.Failures != 2 ||
			string(letter.Payload) != `{"number":7}` || string(letter.Metadata) != `{"from":"test"}` ||
			!letter.PublishedAt.Equal(began) || letter.DeadAt.Sub(began).Round(time.Second/10) != time.Second || len(letter.Fingerprint) != 12 {
			t.Errorf("the letter is %+v", letter)
		}
		if got := letter.LastAttempt().Error; got != "job 7: out of order" {
			t.Errorf("the last error is %q", got)
		}
		if len(letter.Attempts) != 2 || letter.Attempts[0].Kind != "error" || letter.Attempts[0].ErrorType != "*errors.errorString" ||
			!letter.Attempts[0].Started.Equal(began) {
			t.Errorf("the attempts are %+v", letter.Attempts)
		}
		if letter.MadeFrom != nil || letter.EditedInto != nil || len(letter.Audit) != 0 {
			t.Errorf("its history is %+v", letter)
		}
	})
}

func (env *Env) TestADeliveryThatIsNotADeadLetterIsNamedWithItsState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.MakeDead(t, 1, 2, 3)
		release := make(chan struct{})
		_, err := runtime.Subscribe(f.Bus, taskType, "stuck", func(context.Context, runtime.Event[job]) error {
			<-release
			return nil
		}, runtime.WithTimeout(time.Hour))
		Must(t, err)
		i := f.Inspect()
		letters := i.List(event.Filter{})
		f.Repair()
		done := f.Publish(4)[0].ID
		_, err = i.DiscardDeadLetters(t.Context(), inspect.Only(letters[0].Key), "nobody cares")
		Must(t, err)
		task, err := runtime.Publish(t.Context(), f.Bus, taskType, job{Number: 5})
		Must(t, err)
		time.Sleep(time.Minute) // the handler runs
		for name, test := range map[string]struct {
			key  event.Key
			want string
		}{
			"no event":        {event.Key{EventID: uuid.Max, Subscription: "worker"}, "there is no such event"},
			"no subscription": {event.Key{EventID: done, Subscription: "x"}, "there is no such subscription"},
			"handled":         {event.Key{EventID: done, Subscription: "worker"}, "it was handled"},
			"discarded":       {letters[0].Key, "it was discarded: nobody cares"},
			"running":         {event.Key{EventID: task.ID, Subscription: "stuck"}, "a handler is running"},
		} {
			_, err := i.DeadLetter(t.Context(), test.key)
			var missing *event.NotFoundError
			if !errors.As(err, &missing) || missing.Key != test.key || !strings.Contains(missing.Error(), test.want) {
				t.Errorf("%s: %v", name, err)
			}
		}
		close(release)
		f.Stop()
		_, err = i.Retry(t.Context(), inspect.Only(letters[1].Key))
		Must(t, err)
		if _, err := i.DeadLetter(t.Context(), letters[1].Key); err == nil || !strings.Contains(err.Error(), "it waits to be tried again") {
			t.Errorf("retried: %v", err)
		}
	})
}

func (env *Env) TestAFilterChoosesByEverythingThatIsSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.OpenJobs(t)
		// 1 and 2 are jobs, 3 a task that its handler rejects, and 4 one that
		// the mirror rejects as well.
		f.Failing(func(n int) error {
			if n >= 3 {
				return runtime.Permanent(fmt.Errorf("task %d: no such account", n))
			}
			return Broken(n)
		})
		_, err := runtime.Subscribe(f.Bus, taskType, "mirror", func(_ context.Context, e runtime.Event[job]) error {
			if e.Payload.Number == 4 {
				return errors.New("the mirror's disk is full")
			}
			return nil
		})
		Must(t, err)
		var times []time.Time
		for n, publish := range []func(int){
			func(n int) { f.Publish(n) }, func(n int) { f.Publish(n) },
			func(n int) { Must(t, Second(runtime.Publish(t.Context(), f.Bus, taskType, job{Number: n}))); f.Idle() },
			func(n int) { Must(t, Second(runtime.Publish(t.Context(), f.Bus, taskType, job{Number: n}))); f.Idle() },
		} {
			publish(n + 1)
			times = append(times, time.Now())
			time.Sleep(time.Minute)
		}
		i := f.Inspect()
		all := i.List(event.Filter{})
		if got := NumbersOf(all); !slices.Equal(got, []int{4, 4, 3, 2, 1}) {
			t.Fatalf("the letters are %v", got)
		}
		two := all[3]
		for name, test := range map[string]struct {
			filter event.Filter
			want   []int
		}{
			"a type":                 {event.Filter{Types: []string{"job.queued"}}, []int{2, 1}},
			"a glob":                 {event.Filter{Types: []string{"task.*"}}, []int{4, 4, 3}},
			"several globs":          {event.Filter{Types: []string{"*.queued", "job.*"}}, []int{4, 4, 3, 2, 1}},
			"a type of no event":     {event.Filter{Types: []string{"nothing.*"}}, nil},
			"the bus's own type":     {event.Filter{Types: []string{"$dead.job.queued"}}, nil},
			"a subscription":         {event.Filter{Subscriptions: []string{"mirror"}}, []int{4}},
			"no subscription":        {event.Filter{Subscriptions: []string{"nobody"}}, nil},
			"several subscriptions":  {event.Filter{Subscriptions: []string{"mirror", "worker"}}, []int{4, 4, 3, 2, 1}},
			"a reason":               {event.Filter{Reasons: []string{"permanent"}}, []int{4, 3}},
			"several reasons":        {event.Filter{Reasons: []string{"crash", "max_attempts"}}, []int{4, 2, 1}},
			"since, inclusive":       {event.Filter{Since: two.DeadAt}, []int{4, 4, 3, 2}},
			"until, inclusive":       {event.Filter{Until: two.DeadAt}, []int{2, 1}},
			"between":                {event.Filter{Since: times[0].Add(time.Second), Until: times[2]}, []int{3, 2}},
			"text in the payload":    {event.Filter{Text: `"number":3`}, []int{3}},
			"text in an error":       {event.Filter{Text: "disk is full"}, []int{4}},
			"text with wildcards":    {event.Filter{Text: "%"}, nil},
			"text in another case":   {event.Filter{Text: "Disk is full"}, nil},
			"a key":                  {event.Filter{Keys: []event.Key{two.Key}}, []int{2}},
			"keys, one of nothing":   {event.Filter{Keys: []event.Key{two.Key, all[4].Key, {EventID: uuid.Max, Subscription: "worker"}}}, []int{2, 1}},
			"an event's other key":   {event.Filter{Keys: []event.Key{{EventID: all[0].EventID, Subscription: "mirror"}}}, []int{4}},
			"a group":                {event.Filter{Group: two.Fingerprint}, []int{2, 1}},
			"no group":               {event.Filter{Group: "0123456789ab"}, nil},
			"everything together":    {event.Filter{Types: []string{"*"}, Subscriptions: []string{"worker"}, Reasons: []string{"permanent"}, Text: "account", Since: times[2].Add(time.Second)}, []int{4}},
			"what excludes the rest": {event.Filter{Types: []string{"job.*"}, Subscriptions: []string{"mirror"}}, nil},
		} {
			if got := NumbersOf(i.List(test.filter)); !slices.Equal(got, test.want) {
				t.Errorf("%s: got %v, want %v", name, got, test.want)
			}
			if n, err := i.CountDeadLetters(t.Context(), test.filter); n != len(test.want) || err != nil {
				t.Errorf("%s: counted %d (%v), want %d", name, n, err, len(test.want))
			}
		}
	})
}

func (env *Env) TestAFilterThatCanMatchNothingIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := env.OpenJobs(t).Inspect()
		for want, filter := range map[string]event.Filter{
			`"order.pl*"`:                   {Types: []string{"order.*", "order.pl*"}},
			`""`:                            {Types: []string{""}},
			`"timeout" is not a reason; it`: {Reasons: []string{"timeout"}},
		} {
			for name, call := range map[string]func() error{
				"List":   func() error { _, _, err := i.DeadLetters(t.Context(), filter, event.Page{}); return err },
				"Count":  func() error { _, err := i.CountDeadLetters(t.Context(), filter); return err },
				"Groups": func() error { _, err := i.FailureGroups(t.Context(), filter); return err },
				"Retry":  func() error { _, err := i.Retry(t.Context(), inspect.Selection{Filter: filter}); return err },
				"Export": func() error { _, err := i.Export(t.Context(), &strings.Builder{}, filter); return err },
			} {
				if err := call(); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%s(%+v): %v", name, filter, err)
				}
			}
		}
	})
}

func (env *Env) TestAFilterIsDescribedInWords(t *testing.T) {
	key := event.Key{EventID: uuid.MustParse("018f3c5e-0000-7000-8000-000000000001"), Subscription: "worker"}
	for _, test := range []struct {
		filter event.Filter
		want   string
	}{
		{event.Filter{}, "all"},
		{event.Filter{Keys: []event.Key{key}}, "dead letter 018f3c5e-0000-7000-8000-000000000001/worker"},
		{event.Filter{Keys: []event.Key{key, key}}, "one of 2 given dead letters"},
		{
			event.Filter{
				Types: []string{"a.*", "b"}, Subscriptions: []string{"s"}, Reasons: []string{"crash"}, Group: "0123", Text: "x y",
				Since: jan(1), Until: jan(2),
			},
			`type a.* or b, subscription s, reason crash, group 0123, text "x y", since 1999-01-01T00:00:00Z, until 1999-01-02T00:00:00Z`,
		},
	} {
		if got := test.filter.String(); got != test.want {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
	}
}
