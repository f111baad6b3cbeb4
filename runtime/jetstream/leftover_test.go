package jetstream_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/jetstream/internal/servertest"
)

// A server that is killed after it has stored the record of a row that is gone, and before it
// has deleted the one that this replaces, keeps both. The first one is deleted a minute later.
func TestADeliveryThatIsSettledDoesNotComeBackWhenAServerHasKeptARecordThatWasReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var handled conformance.Journal[int]
		start := func(server *servertest.Server) *runtime.Bus {
			bus, _ := process(t, server, nil)
			_, err := runtime.Subscribe(bus, conformance.PlacedType, "orders", func(_ context.Context, e runtime.Event[conformance.OrderPlaced]) error {
				handled.Add(e.Attempt)
				return nil
			})
			conformance.Must(t, err)
			conformance.Must(t, bus.Start(t.Context()))
			return bus
		}
		first := servertest.Start(t, t.TempDir())
		bus := start(first)
		_, err := runtime.Publish(t.Context(), bus, conformance.PlacedType, conformance.OrderPlaced{}, runtime.WithDelay(10*time.Second))
		conformance.Must(t, err)
		time.Sleep(5 * time.Second)
		waiting := rowsOf(t, first)
		if len(waiting) != 1 || !strings.Contains(string(waiting[0].Data), `"waiting"`) {
			t.Fatalf("the rows are %v, want one that waits", texts(waiting))
		}
		time.Sleep(10 * time.Second)
		conformance.Must(t, bus.Shutdown(t.Context()))
		killed := servertest.Start(t, t.TempDir())
		first.CopyTo(t, killed, "bus", waiting...)
		if rows := rowsOf(t, killed); len(rows) != 2 || !strings.Contains(string(rows[1].Data), `"gone"`) {
			t.Fatalf("the rows are %v, want one that waits, and one that is gone", texts(rows))
		}
		for range 2 { // the second process is the first one that does not see that it is gone
			bus = start(killed)
			time.Sleep(2 * time.Minute)
			conformance.Must(t, bus.Shutdown(t.Context()))
		}
		if rows := rowsOf(t, killed); len(rows) > 0 {
			t.Errorf("the rows are %v, want none", texts(rows))
		}
		if n := len(handled.All()); n != 1 {
			t.Errorf("the event was handled %d times, want once", n)
		}
	})
}

// Nobody can see from outside which server has kept something, so all are asked.
func TestTheServersAreAskedToDeleteWhatIsLeftOfARowThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := servertest.Start(t, t.TempDir())
		bus, _ := process(t, server, nil)
		_, err := runtime.Subscribe(bus, conformance.PlacedType, "orders", func(context.Context, runtime.Event[conformance.OrderPlaced]) error { return nil })
		conformance.Must(t, err)
		conformance.Must(t, bus.Start(t.Context()))
		nc, err := server.Connect()
		conformance.Must(t, err)
		defer nc.Close()
		asked := 0
		_, err = nc.Subscribe("$JS.API.STREAM.PURGE.bus", func(*nats.Msg) { asked++ })
		conformance.Must(t, err)
		_, err = runtime.Publish(t.Context(), bus, conformance.PlacedType, conformance.OrderPlaced{}, runtime.WithDelay(10*time.Second))
		conformance.Must(t, err)
		time.Sleep(15 * time.Second)
		synctest.Wait()
		if asked != 1 {
			t.Errorf("they are asked %d times, want once", asked)
		}
	})
}

// rowsOf returns the rows that a server has, those that were replaced as well.
func rowsOf(t *testing.T, server *servertest.Server) (rows []*js.RawStreamMsg) {
	t.Helper()
	stream, err := clientOf(t, server).Stream(t.Context(), "bus")
	conformance.Must(t, err)
	for seq := uint64(1); ; {
		m, err := stream.GetMsg(t.Context(), seq, js.WithGetMsgSubject("bus.d.>"))
		if err != nil {
			return rows
		}
		rows, seq = append(rows, m), m.Sequence+1
	}
}

func texts(rows []*js.RawStreamMsg) (all []string) {
	for _, m := range rows {
		all = append(all, fmt.Sprintf("%d %s %s", m.Sequence, m.Subject, m.Data))
	}
	return all
}
