package conformance

import (
	"context"
	"errors"
	"iter"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime"
)

// numbers returns the numbers of the orders that are found.
func numbers(t *testing.T, found iter.Seq2[runtime.Event[OrderPlaced], error]) (all []int) {
	t.Helper()
	for event, err := range found {
		Must(t, err)
		all = append(all, event.Payload.Number)
	}
	return all
}

// down returns the numbers from one to another, both included, the highest first.
func down(from, to int) []int {
	n := Numbers(to, from)
	slices.Reverse(n)
	return n
}

func (env *Env) TestFindYieldsTheNewestEventsThatMatchFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Publish(Numbers(1, 150)...)
		_, err := runtime.Publish(t.Context(), f.Bus, UserType, UserCreated{})
		Must(t, err)
		time.Sleep(time.Minute)
		since := time.Now()
		f.Publish(Numbers(151, 250)...)
		time.Sleep(time.Minute)
		until := time.Now()
		f.Publish(251)
		trip, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{OrderID: "A", Number: 252}, runtime.WithCorrelationID("trip"))
		Must(t, err)
		even := func(e runtime.Event[OrderPlaced]) bool { return e.Payload.Number%2 == 0 }
		small := func(e runtime.Event[OrderPlaced]) bool { return e.Payload.Number < 10 }
		find := func(q runtime.Query, match ...func(runtime.Event[OrderPlaced]) bool) []int {
			t.Helper()
			return numbers(t, runtime.Find(t.Context(), f.Bus, PlacedType, q, match...))
		}
		for what, one := range map[string]struct{ got, want []int }{
			"all":            {find(runtime.Query{}), down(252, 1)},
			"limit":          {find(runtime.Query{Limit: 3}), down(252, 250)},
			"large limit":    {find(runtime.Query{Limit: 101}), down(252, 152)},
			"since":          {find(runtime.Query{Since: since}), down(252, 151)},
			"until":          {find(runtime.Query{Until: since}), down(150, 1)},
			"since to until": {find(runtime.Query{Since: since, Until: until, Limit: 2}), []int{250, 249}},
			"correlation":    {find(runtime.Query{CorrelationID: "trip"}), []int{252}},
			"status":         {find(runtime.Query{Status: "pending"}), nil},
			"function":       {find(runtime.Query{Limit: 2}, small), []int{9, 8}},
			"functions":      {find(runtime.Query{}, small, even), []int{8, 6, 4, 2}},
			"children":       {find(runtime.Query{ChildOf: trip.ID}), nil},
		} {
			if !slices.Equal(one.got, one.want) {
				t.Errorf("%s: found %v, want %v", what, one.got, one.want)
			}
		}
		for event, err := range runtime.Find(t.Context(), f.Bus, PlacedType, runtime.Query{}) {
			if err != nil || event.ID != trip.ID || event.Type != "order.placed" || event.Version != 1 || event.CorrelationID != "trip" || event.PublishedAt.IsZero() {
				t.Errorf("the newest event is %+v, %v", event, err)
			}
			break
		}
	})
}

func (env *Env) TestFindChoosesByStatusAndParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Handle("worker", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			if e.Payload.Number > 9 {
				return nil
			}
			if e.Payload.Number == 2 {
				return runtime.Permanent(ErrBoom)
			}
			_, err := runtime.Publish(ctx, f.Bus, PlacedType, OrderPlaced{OrderID: "A", Number: 10 * e.Payload.Number})
			return err
		})
		f.MustStart()
		receipts := f.Publish(1, 2, 3)
		f.Idle()
		for what, one := range map[string]struct {
			query runtime.Query
			want  []int
		}{
			"dead":          {runtime.Query{Status: "dlq"}, []int{2}},
			"children":      {runtime.Query{ChildOf: receipts[2].ID}, []int{30}},
			"correlation":   {runtime.Query{CorrelationID: receipts[0].ID.String()}, []int{10}},
			"done, limit":   {runtime.Query{Status: "done", Limit: 1}, []int{30}},
			"no such event": {runtime.Query{ChildOf: uuid.New()}, nil},
		} {
			if got := numbers(t, runtime.Find(t.Context(), f.Bus, PlacedType, one.query)); !slices.Equal(got, one.want) {
				t.Errorf("%s: found %v, want %v", what, got, one.want)
			}
		}
		child, err := runtime.Await(t.Context(), f.Bus, PlacedType, runtime.Query{ChildOf: receipts[0].ID, Since: time.Unix(0, 0)}, nil)
		if err != nil || child.Payload.Number != 10 || child.ParentID != receipts[0].ID || child.PublishedBy != "worker" || child.Hops != 1 {
			t.Errorf("Await found %+v, %v", child, err)
		}
	})
}

func (env *Env) TestFindYieldsAnErrorForAnEventThatCannotBeShownAndGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Publish(1)
		f.PublishRaw(PlacedType, `{"number": "many"}`)
		panics := f.Publish(2)[0]
		f.Publish(3)
		var found []int
		var broken []*runtime.EventError
		for event, err := range runtime.Find(t.Context(), f.Bus, PlacedType, runtime.Query{}, func(e runtime.Event[OrderPlaced]) bool {
			if e.Payload.Number == 2 {
				panic("what is this?")
			}
			return true
		}) {
			var one *runtime.EventError
			if errors.As(err, &one) {
				broken = append(broken, one)
			} else {
				Must(t, err)
				found = append(found, event.Payload.Number)
			}
		}
		if !slices.Equal(found, []int{3, 1}) || len(broken) != 2 || broken[0].ID != panics.ID || broken[1].ID == uuid.Nil || broken[1].EventType != "order.placed" {
			t.Fatalf("found %v, and errors %v", found, broken)
		}
		if panicked, ok := errors.AsType[*runtime.PanicError](broken[0]); !ok || panicked.Stack == "" {
			t.Errorf("the error of the function that panics is %v", broken[0])
		}
	})
}

// An error that is not one of an event ends the iteration.
func (env *Env) TestFindEndsWithItsContextAndWithTheBus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Publish(Numbers(1, 250)...)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		end := map[error]func(){context.Canceled: cancel, runtime.ErrShutdown: f.Stop}
		for _, want := range []error{context.Canceled, runtime.ErrShutdown} {
			found, last := 0, error(nil)
			for _, err := range runtime.Find(ctx, f.Bus, PlacedType, runtime.Query{}) {
				if found++; found == 1 {
					end[want]()
				}
				last = err
			}
			if found != 101 || !errors.Is(last, want) {
				t.Errorf("found %d, and the last error is %v, want the events of a page and %v", found, last, want)
			}
			ctx = t.Context()
		}
		for _, err := range runtime.Find(t.Context(), f.Bus, PlacedType, runtime.Query{}) {
			if !errors.Is(err, runtime.ErrShutdown) {
				t.Errorf("after the shutdown, the error is %v", err)
			}
		}
	})
}

// The body of the loop may use the bus, and what it publishes is not found.
func (env *Env) TestFindHoldsNothingWhileTheLoopRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Publish(Numbers(1, 120)...)
		found := runtime.Find(t.Context(), f.Bus, PlacedType, runtime.Query{})
		count := 0
		for event, err := range found {
			Must(t, err)
			f.Publish(1000 + event.Payload.Number)
			if inner := numbers(t, runtime.Find(t.Context(), f.Bus, PlacedType, runtime.Query{Limit: 1})); inner[0] != 1000+event.Payload.Number {
				t.Errorf("inside, found %v", inner)
			}
			count++
		}
		if count != 120 {
			t.Errorf("found %d events, want the 120 from before", count)
		}
		if again := numbers(t, found); len(again) != 240 {
			t.Errorf("a second range found %d events, want 240", len(again))
		}
	})
}

func (env *Env) TestFindRefusesAQueryThatCannotMatch(t *testing.T) {
	f := env.Open(t)
	one := func(q runtime.Query, match ...func(runtime.Event[OrderPlaced]) bool) (errs []error) {
		for _, err := range runtime.Find(t.Context(), f.Bus, PlacedType, q, match...) {
			errs = append(errs, err)
		}
		return errs
	}
	for field, errs := range map[string][]error{
		"Status": one(runtime.Query{Status: "dead"}), "Limit": one(runtime.Query{Limit: -1}), "match": one(runtime.Query{}, nil),
	} {
		if len(errs) != 1 {
			t.Errorf("%s: the errors are %v", field, errs)
		} else if refused, ok := errors.AsType[*runtime.QueryError](errs[0]); !ok || refused.Field != field {
			t.Errorf("%s: the error is %v", field, errs[0])
		}
	}
}
