package jetstream_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/jetstream"
	"github.com/busgen/busgen/runtime/jetstream/internal/servertest"
	"github.com/busgen/busgen/runtime/retry"
)

// The power of a server fails that has no replicas, and what it has not synced is lost: everything behind one message,
// whichever that is. It may be in the middle of a batch. Then a bus that starts knows nothing of that batch, and each
// event that is left has one child.
func TestHalfOfABatchWasNeverPublished(t *testing.T) {
	whole, last := filled(t)
	halves := 0
	for seq := last; seq > 2; seq-- {
		cutAfter(t, whole, seq, func(x *halved) {
			x.live(seq)
			halves += x.log.count("the servers have lost the end of a batch")
		})
	}
	t.Logf("%d of the %d cuts leave half of a batch", halves, last)
	if halves < 5 {
		t.Errorf("%d of the %d cuts leave half of a batch, want some", halves, last)
	}
}

// Half of a batch has a row that says how an attempt has ended, and the row that it has replaced is gone. What else the
// batch had is lost, so the delivery waits again.
func TestADeliveryWaitsAgainOfWhichHalfABatchHasTheOnlyRow(t *testing.T) {
	whole, last := filled(t)
	found := 0
	for seq := last; seq > 2; seq-- {
		cutAfter(t, whole, seq, func(x *halved) {
			if x.forgetReplaced(seq) {
				found++
				x.live(seq)
			}
		})
	}
	if t.Logf("%d of the %d cuts leave such a row", found, last); found == 0 {
		t.Error("no cut leaves such a row")
	}
}

// filled returns the folder of a server whose bus has handled some events, and the last message.
func filled(t *testing.T) (whole string, last uint64) {
	whole = t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		x := &halved{t: t, server: servertest.Start(t, whole)}
		bus := x.start()
		for range 2 {
			var all []conformance.OrderPlaced
			for _, n := range []int{0, 1, 1} {
				all = append(all, conformance.OrderPlaced{OrderID: fmt.Sprint(x.published), Number: n})
				x.published++
			}
			_, err := runtime.PublishBatch(t.Context(), bus, conformance.PlacedType, all)
			conformance.Must(t, err)
			time.Sleep(10 * time.Second)
		}
		conformance.Must(t, bus.Shutdown(t.Context()))
		last = x.last()
		x.server.Shutdown()
		x.server.WaitForShutdown()
	})
	return whole, last
}

// cutAfter runs f beside a copy of the server that has lost everything behind a message, if that has ever been there.
func cutAfter(t *testing.T, whole string, seq uint64, f func(*halved)) {
	dir := t.TempDir()
	conformance.Must(t, os.CopyFS(dir, os.DirFS(whole)))
	if err := servertest.CutAfter(dir, seq); err != nil {
		return // no server has it any more
	}
	synctest.Test(t, func(t *testing.T) { f(&halved{t: t, server: servertest.Start(t, dir)}) })
}

// halved is a bus whose server has lost something.
type halved struct {
	t         *testing.T
	server    *servertest.Server
	log       textLog
	published int
}

func (x *halved) start() *runtime.Bus {
	bus, err := runtime.Open(x.t.Context(), "nats://test/bus", conformance.Catalogue, runtime.WithLogger(slog.New(slog.NewTextHandler(&x.log, nil))),
		jetstream.Engine(jetstream.Silent(), jetstream.Through(func(string) (*nats.Conn, error) { return x.server.Connect() })))
	conformance.Must(x.t, err)
	_, err = runtime.Subscribe(bus, conformance.PlacedType, "orders", func(ctx context.Context, e runtime.Event[conformance.OrderPlaced]) error {
		if e.Attempt <= e.Payload.Number {
			return errors.New("not yet")
		}
		_, err := runtime.Publish(ctx, bus, conformance.PaidType, conformance.OrderPaid{OrderID: e.Payload.OrderID})
		return err
	}, runtime.FromBeginning(), runtime.WithRetry(retry.WithBackoff(retry.Constant), retry.BaseDelay(time.Second), retry.Jitter(0)))
	conformance.Must(x.t, err)
	conformance.Must(x.t, bus.Start(x.t.Context()))
	return bus
}

// live has two buses work, one after the other, and checks what they make of it.
func (x *halved) live(cut uint64) {
	for range 2 {
		bus := x.start()
		time.Sleep(time.Minute)
		conformance.Must(x.t, bus.Shutdown(x.t.Context()))
	}
	x.check(cut)
}

// forgetReplaced deletes the rows that those of half a batch have replaced, of which this is the last message. It reports
// whether there are such rows.
func (x *halved) forgetReplaced(last uint64) (found bool) {
	s, err := clientOf(x.t, x.server).Stream(context.Background(), "bus")
	conformance.Must(x.t, err)
	m, err := s.GetMsg(context.Background(), last)
	if err != nil || m.Header.Get("Nats-Batch-Commit") != "" {
		return false
	}
	batch := m.Header.Get("Nats-Batch-Id")
	for seq := last; batch != "" && err == nil && m.Header.Get("Nats-Batch-Id") == batch; {
		if before := m.Header.Get("Nats-Expected-Last-Subject-Sequence"); strings.HasPrefix(m.Subject, "bus.d.") && before != "0" && before != "" {
			found = true
			replaced, err := strconv.ParseUint(before, 10, 64)
			conformance.Must(x.t, err)
			if err := s.DeleteMsg(context.Background(), replaced); err != nil {
				x.t.Log("message ", replaced, ": ", err) // it is gone
			}
		}
		seq--
		m, err = s.GetMsg(context.Background(), seq)
	}
	return found
}

func (x *halved) last() uint64 {
	s, err := clientOf(x.t, x.server).Stream(context.Background(), "bus")
	conformance.Must(x.t, err)
	return s.CachedInfo().State.LastSeq
}

// check reads the stream. It shares no code with the engine.
func (x *halved) check(cut uint64) {
	s, err := clientOf(x.t, x.server).Stream(context.Background(), "bus")
	conformance.Must(x.t, err)
	orders, children := map[string]int{}, map[string]int{}
	for seq := uint64(1); seq <= s.CachedInfo().State.LastSeq; seq++ {
		m, err := s.GetMsg(context.Background(), seq)
		if err != nil {
			continue
		}
		var e struct {
			ID string `json:"order_id"`
		}
		switch m.Header.Get("Busgen-Type") {
		case "order.placed":
			conformance.Must(x.t, json.Unmarshal(m.Data, &e))
			orders[e.ID]++
		case "order.paid":
			conformance.Must(x.t, json.Unmarshal(m.Data, &e))
			children[e.ID]++
		}
	}
	if len(orders)%3 != 0 {
		x.t.Errorf("cut behind %d: there are %d orders, of batches of 3", cut, len(orders))
	}
	for id := range orders {
		if children[id] != 1 {
			x.t.Errorf("cut behind %d: order %s has %d children, want 1", cut, id, children[id])
		}
	}
	if len(children) != len(orders) {
		x.t.Errorf("cut behind %d: %d orders have children, want %d", cut, len(children), len(orders))
	}
}
