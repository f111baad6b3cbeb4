package jetstream_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/jetstream"
	"github.com/busgen/busgen/runtime/jetstream/internal/servertest"
)

// sentTo returns how many messages the server has sent to those who follow a stream.
func sentTo(t *testing.T, server *servertest.Server) (sent uint64) {
	t.Helper()
	stream, err := clientOf(t, server).Stream(context.Background(), "bus")
	conformance.Must(t, err)
	all := stream.ListConsumers(context.Background())
	for one := range all.Info() {
		sent += one.Delivered.Consumer
	}
	conformance.Must(t, all.Err())
	return sent
}

func TestAProcessThatOnlyPublishesIsNotSentEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := servertest.Start(t, t.TempDir())
		bus, _ := process(t, server, nil)
		for i := range 100 {
			_, err := runtime.Publish(t.Context(), bus, conformance.PlacedType, conformance.OrderPlaced{Number: i})
			conformance.Must(t, err)
			_, err = runtime.PublishBatch(t.Context(), bus, conformance.PaidType, make([]conformance.OrderPaid, 10))
			conformance.Must(t, err)
			_, err = runtime.Publish(t.Context(), bus, conformance.PaidType, conformance.OrderPaid{}, runtime.WithDedupeKey(fmt.Sprint(i)))
			conformance.Must(t, err)
		}
		time.Sleep(time.Second)
		if sent := sentTo(t, server); sent > 20 { // its own types and schemas
			t.Errorf("the server has sent %d messages to a process that has published 1,200 events and reads none", sent)
		}
	})
}

// While one process begins to dispatch, or waits for what it has published, it and others publish
// and other handlers settle: so records and events come at each moment of the change.
func TestWhoBeginsToFollowEventsMissesNone(t *testing.T) {
	short.Skip(t, "many begin to follow at all moments")
	for name, begin := range map[string]func(t *testing.T, bus *runtime.Bus) error{
		"by Start":        func(t *testing.T, bus *runtime.Bus) error { return bus.Start(t.Context()) },
		"by many at once": startAndWait,
	} {
		t.Run(name, func(t *testing.T) {
			for pause := range 12 {
				synctest.Test(t, func(t *testing.T) { beginsAmid(t, time.Duration(pause)*700*time.Microsecond, begin) })
			}
		})
	}
}

// startAndWait starts a bus while others wait for events that it publishes.
func startAndWait(t *testing.T, bus *runtime.Bus) (err error) {
	var all sync.WaitGroup
	for i := range 5 {
		all.Go(func() {
			receipt, err := runtime.Publish(t.Context(), bus, conformance.PlacedType, conformance.OrderPlaced{Number: 10_000 + i})
			if err == nil {
				_, err = receipt.Wait(t.Context())
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	err = bus.Start(t.Context())
	all.Wait()
	return err
}

func beginsAmid(t *testing.T, pause time.Duration, begin func(*testing.T, *runtime.Bus) error) {
	server := servertest.Start(t, t.TempDir())
	other, _ := process(t, server, nil)
	for i := range 5 { // of which the rows and cursors are replaced all the time
		_, err := runtime.Subscribe(other, conformance.PlacedType, fmt.Sprint("busy-", i), func(_ context.Context, e runtime.Event[conformance.OrderPlaced]) error {
			if e.Attempt == 1 && e.Payload.Number%3 == 0 {
				return runtime.RetryAfter(time.Millisecond, fmt.Errorf("later"))
			}
			_, err := runtime.Publish(context.Background(), other, conformance.PaidType, conformance.OrderPaid{})
			return err
		})
		conformance.Must(t, err)
	}
	conformance.Must(t, other.Start(t.Context()))
	bus, _ := process(t, server, nil)
	var handled conformance.Journal[int]
	_, err := runtime.Subscribe(bus, conformance.PlacedType, "orders", func(_ context.Context, e runtime.Event[conformance.OrderPlaced]) error {
		handled.Add(e.Payload.Number)
		return nil
	}, runtime.FromBeginning())
	conformance.Must(t, err)
	var publishing sync.WaitGroup
	for from, publisher := range map[int]*runtime.Bus{0: bus, 1000: other} {
		publishing.Go(func() {
			for i := range 200 {
				if _, err := runtime.Publish(t.Context(), publisher, conformance.PlacedType, conformance.OrderPlaced{Number: from + i}); err != nil {
					t.Error(err)
				}
				time.Sleep(100 * time.Microsecond)
			}
		})
	}
	time.Sleep(pause)
	conformance.Must(t, begin(t, bus))
	publishing.Wait()
	conformance.Must(t, bus.WaitIdle(t.Context()))
	all := handled.All()
	slices.Sort(all)
	if once := slices.Compact(slices.Clone(all)); len(once) != len(all) || len(all) != 400 && len(all) != 405 {
		t.Errorf("after %v, %d events were handled, %d of them once, want all 400 or 405 once", pause, len(all), len(once))
	}
}

// The process has not learned yet what others have stored when it begins: it waits for that.
func TestWhoBeginsToFollowEventsHasReadAllRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := servertest.Start(t, t.TempDir())
		var handled conformance.Journal[int]
		handle := func(bus *runtime.Bus) {
			_, err := runtime.Subscribe(bus, conformance.PlacedType, "orders", func(_ context.Context, e runtime.Event[conformance.OrderPlaced]) error {
				handled.Add(e.Payload.Number)
				return nil
			})
			conformance.Must(t, err)
		}
		publish := func(bus *runtime.Bus, n int) {
			_, err := runtime.Publish(t.Context(), bus, conformance.PlacedType, conformance.OrderPlaced{Number: n})
			conformance.Must(t, err)
		}
		var behind lag
		late, _ := process(t, server, nil, jetstream.Lagging(behind.wait))
		first, _ := process(t, server, nil)
		handle(first)
		handle(late)
		time.Sleep(time.Second)
		behind.begin()
		conformance.Must(t, first.Start(t.Context()))
		publish(first, 1)
		conformance.Must(t, first.WaitIdle(t.Context()))
		conformance.Must(t, first.Shutdown(t.Context()))
		time.AfterFunc(3*time.Second, behind.end)
		brief, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		conformance.Must(t, late.Start(brief))
		publish(late, 2)
		time.Sleep(time.Minute)
		if all := handled.All(); !slices.Equal(all, []int{1, 2}) {
			t.Errorf("%v were handled, want 1 and 2", all)
		}
	})
}

func TestAProcessThatOnlyPublishesCanWaitForWhatOthersHandle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := servertest.Start(t, t.TempDir())
		other, _ := process(t, server, nil)
		_, err := runtime.Subscribe(other, conformance.PlacedType, "orders", func(_ context.Context, e runtime.Event[conformance.OrderPlaced]) error {
			if e.Payload.Number == 1 {
				return runtime.Permanent(fmt.Errorf("refused"))
			}
			return nil
		})
		conformance.Must(t, err)
		conformance.Must(t, other.Start(t.Context()))
		bus, _ := process(t, server, nil)
		unheard, err := runtime.Publish(t.Context(), bus, conformance.PaidType, conformance.OrderPaid{})
		conformance.Must(t, err)
		brief, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err = unheard.Wait(brief)
		conformance.Must(t, err)
		for i := range 3 {
			receipt, err := runtime.Publish(t.Context(), bus, conformance.PlacedType, conformance.OrderPlaced{Number: i})
			conformance.Must(t, err)
			brief, cancel := context.WithTimeout(t.Context(), time.Minute)
			outcome, err := receipt.Wait(brief)
			cancel()
			conformance.Must(t, err)
			if dead := outcome.Err() != nil; dead != (i == 1) {
				t.Errorf("event %d: the outcome is %+v", i, outcome)
			}
		}
	})
}
