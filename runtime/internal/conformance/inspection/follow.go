package inspection

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
)

// follower reads the log forwards.
type follower struct {
	*Fixture
	filter event.Filter
	part   event.Followed
	seen   []int
	pruned int64
}

func (f *Fixture) follow(filter event.Filter, newest int) *follower {
	f.t.Helper()
	g := &follower{Fixture: f, filter: filter}
	part, err := f.File.Newest(f.t.Context(), filter, newest)
	Must(f.t, err)
	g.take(part)
	return g
}

func (g *follower) take(part event.Followed) {
	g.t.Helper()
	if g.part = part; part.Next == "" || part.Restarted {
		g.t.Fatalf("the part is %+v", part)
	}
	g.pruned += part.Pruned
	for _, e := range part.Events {
		var order Order
		Must(g.t, json.Unmarshal(e.Payload, &order))
		g.seen = append(g.seen, order.Number)
	}
}

// look reads what there is now, each part with a File of its own.
func (g *follower) look(limit int) {
	g.t.Helper()
	for {
		file, err := g.env.OpenFile(g.t.Context(), g.Path)
		Must(g.t, err)
		part, err := file.Follow(g.t.Context(), g.filter, event.Page{After: g.part.Next, Limit: limit})
		Must(g.t, errors.Join(err, file.Close()))
		if g.take(part); !part.More {
			return
		}
		if len(part.Events) != limit {
			g.t.Errorf("there is more behind a part of %d events, which is less than %d", len(part.Events), limit)
		}
	}
}

func (f *Fixture) publishMany(from, to int) {
	f.t.Helper()
	var orders []Order
	for n := from; n <= to; n++ {
		orders = append(orders, Order{Number: n})
	}
	_, err := runtime.PublishBatch(f.t.Context(), f.Bus, PlacedType, orders)
	Must(f.t, err)
}

func upTo(from, to int) (all []int) {
	for n := from; n <= to; n++ {
		all = append(all, n)
	}
	return all
}

func (env *Env) TestWhoFollowsTheLogGetsEachEventOnceInItsOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.MustStart()
		g := f.follow(event.Filter{}, 10)
		g.look(10)
		if len(g.seen) != 0 {
			t.Fatalf("of an empty log it has %v", g.seen)
		}
		f.publishMany(1, 2500)
		g.look(100)
		g.look(100)
		f.publishMany(2501, 2600) // exactly one part
		g.look(100)
		f.publishMany(2601, 2601)
		g.look(1)
		if !slices.Equal(g.seen, upTo(1, 2601)) || g.pruned != 0 {
			t.Errorf("it has %d events of 2601, %d pruned ones", len(g.seen), g.pruned)
		}
		for newest, want := range map[int][]int{0: nil, 1: {2601}, 3: {2599, 2600, 2601}} {
			if g := f.follow(event.Filter{}, newest); !slices.Equal(g.seen, want) {
				t.Errorf("the newest %d are %v", newest, g.seen)
			}
		}
		g = f.follow(event.Filter{}, 5000)
		if !slices.Equal(g.seen, upTo(1, 2601)) {
			t.Errorf("all are %d", len(g.seen))
		}
		g.part.Next, g.seen = "", nil // from the beginning
		g.look(1000)
		if !slices.Equal(g.seen, upTo(1, 2601)) {
			t.Errorf("from the beginning it has %d", len(g.seen))
		}
	})
}

func (env *Env) TestWhoFollowsTheLogMayFilterIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		f := env.Mixed(t)
		all, err := f.File.Newest(t.Context(), event.Filter{}, 100)
		Must(t, err)
		want := []string{`{"number":1} done`, `{"number":2} done`, `{"number":3} dlq`, `{"name":"Ada"} done`, `{"name":"Bob"} pending`,
			`{"number":4} pending`, `{"number":5} processing`}
		if got := payloads(all.Events); !slices.Equal(got, want) {
			t.Errorf("the log is %q, want %q", got, want)
		}
		tests := map[string]struct {
			filter event.Filter
			want   []string
		}{
			"types":         {event.Filter{Types: []string{"user.*"}}, want[3:5]},
			"a text":        {event.Filter{Text: "Ada"}, want[3:4]},
			"a correlation": {event.Filter{CorrelationID: "job-7"}, want[3:4]},
			"a time":        {event.Filter{Since: began.Add(2 * time.Minute)}, want[2:]},
			"nothing":       {event.Filter{Types: []string{"order.eaten"}}, nil},
		}
		cursors := map[string]string{}
		for name, test := range tests {
			part, err := f.File.Follow(t.Context(), test.filter, event.Page{})
			Must(t, err)
			if got := payloads(part.Events); !slices.Equal(got, test.want) {
				t.Errorf("by %s: %q, want %q", name, got, test.want)
			}
			cursors[name] = part.Next
		}
		_, err = runtime.Publish(t.Context(), f.Bus, UserType, User{Name: "Ada"}, runtime.WithCorrelationID("job-7"))
		Must(t, err)
		for name, test := range tests {
			next, err := f.File.Follow(t.Context(), test.filter, event.Page{After: cursors[name]})
			Must(t, err)
			if n := len(next.Events); test.want != nil && n != 1 || test.want == nil && n != 0 {
				t.Errorf("by %s: %d events are new", name, n)
			}
		}
		var wrong *event.PageError
		if _, err := f.File.Follow(t.Context(), event.Filter{}, event.Page{After: "2.AA"}); !errors.As(err, &wrong) {
			t.Errorf("of a cursor that is none it says %v", err)
		}
		for _, bad := range []func() (event.Followed, error){
			func() (event.Followed, error) {
				return f.File.Follow(t.Context(), event.Filter{}, event.Page{Offset: 1})
			},
			func() (event.Followed, error) {
				return f.File.Follow(t.Context(), event.Filter{}, event.Page{Limit: -1})
			},
			func() (event.Followed, error) {
				return f.File.Follow(t.Context(), event.Filter{Group: "x"}, event.Page{})
			},
			func() (event.Followed, error) { return f.File.Newest(t.Context(), event.Filter{}, -1) },
			func() (event.Followed, error) { return f.File.Newest(t.Context(), event.Filter{Group: "x"}, 1) },
		} {
			if _, err := bad(); err == nil {
				t.Error("a call that makes no sense is no error")
			}
		}
	})
}

func (env *Env) TestWhoFollowsTheLogIsToldHowManyEventsWerePrunedMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t, runtime.WithRetention(time.Hour))
		_, err := runtime.Subscribe(f.Bus, UserType, "mailer", func(context.Context, runtime.Event[User]) error { return runtime.Permanent(ErrBroken) })
		Must(t, err)
		f.MustStart()
		f.publishMany(1, 40)
		g := f.follow(event.Filter{}, 2)
		late := f.follow(event.Filter{Types: []string{"order.*"}}, 0)
		f.publishMany(41, 60)
		g.look(100)
		f.publishMany(61, 360)
		_, err = runtime.Publish(t.Context(), f.Bus, UserType, User{Name: "Ada"}) // stays as a dead letter
		Must(t, err)
		time.Sleep(3 * time.Hour)
		f.publishMany(361, 370)
		g.filter = event.Filter{Types: []string{"order.*"}}
		g.look(4)
		late.look(100)
		if want := append(upTo(39, 60), upTo(361, 370)...); !slices.Equal(g.seen, want) || g.pruned != 300 {
			t.Errorf("it has %v and passed over %d, want %v and 300", g.seen, g.pruned, want)
		}
		if !slices.Equal(late.seen, upTo(361, 370)) || late.pruned != 320 {
			t.Errorf("one that was late has %v and passed over %d, want 320", late.seen, late.pruned)
		}
		f.publishMany(371, 371)
		g.look(4)
		if g.pruned != 300 {
			t.Errorf("it passed over %d at last", g.pruned)
		}
	})
}
