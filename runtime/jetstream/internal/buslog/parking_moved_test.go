package buslog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/jetstream/internal/servertest"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// handler is a process that handles a subscription which it shares.
type handler struct {
	t *testing.T
	*Log
	engine.Consumer
	hand []*engine.Delivery
}

func newHandler(t *testing.T, line *servertest.Line) *handler {
	t.Helper()
	nc, err := line.Connect()
	if err != nil {
		t.Fatal(err)
	}
	s, err := stream.Open(t.Context(), nc, "bus", stream.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	h := &handler{t: t}
	if h.Log, err = Open(t.Context(), s, "", engine.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		h.CloseWithin(ctx)
		nc.Close()
	})
	return h
}

// begin makes the process handle its part.
func (h *handler) begin() {
	h.t.Helper()
	var err error
	spec := engine.ConsumerSpec{Name: "orders", Pattern: "*", FromBeginning: true, Parallel: true}
	if h.Consumer, err = h.Log.Consumer(h.t.Context(), spec); err != nil {
		h.t.Fatal(err)
	}
	if _, err = h.TakeOver(h.t.Context()); err != nil {
		h.t.Fatal(err)
	}
}

// poll adds what is due to what the process has in hand, and gives back what it cannot keep.
func (h *handler) poll() {
	h.t.Helper()
	for more := true; more; {
		var err error
		if h.hand, more, err = h.Poll(h.hand, 100); errors.Is(err, engine.ErrMoved) {
			for _, d := range h.hand {
				h.end(d, engine.Disposition{Kind: engine.Release})
			}
			h.hand, more = nil, true
		} else if err != nil {
			h.t.Fatal(err)
		}
	}
}

func (h *handler) end(d *engine.Delivery, v engine.Disposition) {
	h.Settle(engine.Settled{Delivery: d, Disposition: v}, nil)
}

func (h *handler) flush() {
	h.t.Helper()
	if err := h.Flush(h.t.Context()); err != nil {
		h.t.Fatal(err)
	}
}

// pass lets time pass.
func pass(all ...*handler) {
	for range 30 {
		time.Sleep(time.Second)
		for _, h := range all {
			h.poll()
		}
	}
}

// waitlists returns the waitlists of deliveries, in order.
func waitlists(all []*engine.Delivery) (found []string) {
	for _, d := range all {
		found = append(found, d.Waitlist)
	}
	slices.Sort(found)
	return found
}

// One process parks the events of each customer. Then another one shares the subscription, and then the first one dies.
// Each time exactly that is due which was freed.
func TestWhatIsParkedSurvivesAMoveAndTheDeathOfAProcess(t *testing.T) {
	const customers, each = 12, 5
	synctest.Test(t, func(t *testing.T) {
		server := servertest.Start(t, t.TempDir())
		line := server.Line()
		first, second := newHandler(t, line), newHandler(t, server.Line())
		first.begin()
		var all []string
		records := make([]engine.Record, 0, customers*each)
		for n := range customers * each {
			key := fmt.Sprint("customer-", n%customers)
			if n < customers {
				all = append(all, key)
			}
			records = append(records, engine.Record{
				ID: uuid.New(), Type: "order.placed", Version: 1, CreatedAt: time.Now().UTC(), Payload: []byte("{}"),
				Key: key, Keyed: true,
			})
		}
		slices.Sort(all)
		if err := first.Append(t.Context(), records); err != nil {
			t.Fatal(err)
		}
		if pass(first); len(first.hand) != len(records) {
			t.Fatalf("%d are polled, want %d", len(first.hand), len(records))
		}
		for _, d := range first.hand {
			first.end(d, engine.Disposition{Kind: engine.Hold, Waitlist: d.Record.Key})
		}
		first.hand = nil
		first.flush()
		for _, waitlist := range all {
			first.Free(waitlist, 1)
		}
		handled := map[string][]int64{}
		handle := func(h *handler, d *engine.Delivery) {
			h.Free(d.Waitlist, 1)
			h.end(d, engine.Disposition{Kind: engine.Done})
			handled[d.Waitlist] = append(handled[d.Waitlist], d.Seq)
		}
		first.poll()
		for _, d := range first.hand[:customers/2] { // the next ones of these waitlists are due
			handle(first, d)
		}
		first.hand = first.hand[customers/2:]
		first.flush()

		second.begin()
		pass(first, second)
		found, n, m := waitlists(slices.Concat(first.hand, second.hand)), len(first.hand), len(second.hand)
		if !slices.Equal(found, all) || n == 0 || m == 0 {
			t.Errorf("after the move %d and %d are in hand, of the waitlists %v", n, m, found)
		}
		line.Cut()
		pass(second)
		if found := waitlists(second.hand); !slices.Equal(found, all) {
			t.Errorf("after the death deliveries of the waitlists %v are in hand", found)
		}
		for len(second.hand) > 0 {
			for _, d := range second.hand {
				handle(second, d)
			}
			second.hand = nil
			second.flush()
			second.poll()
		}
		for _, waitlist := range all {
			if len(handled[waitlist]) != each || !slices.IsSorted(handled[waitlist]) {
				t.Errorf("of waitlist %s the events %d are handled, want %d in their order", waitlist, handled[waitlist], each)
			}
		}
		if second.Parked() {
			t.Error("something is parked still")
		}
	})
}
