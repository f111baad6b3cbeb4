package jetstream_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/jetstream"
	"github.com/busgen/busgen/runtime/jetstream/internal/buslog"
	"github.com/busgen/busgen/runtime/jetstream/internal/servertest"
)

// An administrator deletes records of the bus, with a filter or one by one. The process that runs has them
// in its view, and stores them again; nothing that was handled comes again, also after a restart.
func TestRecordsThatSomebodyDeletesAreStoredAgain(t *testing.T) {
	purge := func(filter string) func(t *testing.T, s js.Stream) {
		return func(t *testing.T, s js.Stream) {
			conformance.Must(t, s.Purge(context.Background(), js.WithPurgeSubject(filter)))
		}
	}
	for name, remove := range map[string]func(t *testing.T, s js.Stream){
		"the cursors":                 purge("bus.c.>"),
		"the rows of deliveries":      purge("bus.d.>"),
		"who shares subscriptions":    purge("bus.o"),
		"everything but the registry": func(t *testing.T, s js.Stream) { eachKind(t, s, purge) },
		"the cursors, one by one":     func(t *testing.T, s js.Stream) { eachMessage(t, s, "bus.c.>") },
		"the events that are handled": purge("bus.e.>"),
		"the registry":                purge("bus.n"),
		"everything":                  purge("bus.>"),
	} {
		for _, concurrency := range []int{1, 4} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					server, log := servertest.Start(t, t.TempDir()), &textLog{}
					handled := map[int]int{}
					open := func() *runtime.Bus {
						bus, err := runtime.Open(context.Background(), "nats://test/bus", conformance.Catalogue, runtime.WithLogger(slog.New(slog.NewTextHandler(log, nil))),
							jetstream.Engine(jetstream.InMemory(), jetstream.Through(func(string) (*nats.Conn, error) { return server.Connect() })))
						conformance.Must(t, err)
						_, err = runtime.Subscribe(bus, conformance.PlacedType, "orders", func(_ context.Context, e runtime.Event[conformance.OrderPlaced]) error {
							if e.Payload.Number == 5 && e.Attempt == 1 {
								return runtime.RetryAfter(time.Minute, context.DeadlineExceeded)
							}
							handled[e.Payload.Number]++
							return nil
						}, runtime.FromBeginning(), runtime.WithConcurrency(concurrency))
						conformance.Must(t, err)
						conformance.Must(t, bus.Start(context.Background()))
						return bus
					}
					published := 0
					bus := open()
					publish := func() {
						for range 10 {
							_, err := runtime.Publish(context.Background(), bus, conformance.PlacedType, conformance.OrderPlaced{OrderID: "A", Number: published})
							conformance.Must(t, err)
							published++
						}
					}
					publish()
					time.Sleep(20 * time.Second)
					s, err := clientOf(t, server).Stream(context.Background(), "bus")
					conformance.Must(t, err)
					remove(t, s)
					publish()
					time.Sleep(10 * time.Second)
					publish()
					time.Sleep(2 * time.Minute)
					conformance.Must(t, bus.Shutdown(context.Background()))
					bus = open()
					publish()
					time.Sleep(time.Minute)
					conformance.Must(t, bus.Shutdown(context.Background()))
					for n := range published {
						if handled[n] != 1 {
							t.Errorf("event %d was handled %d times", n, handled[n])
						}
					}
					if t.Failed() {
						t.Log(log.text.String())
					}
				})
			})
		}
	}
}

// Of old rows the process has no copy: it makes them from their events. If those are deleted as well, the log says how many
// deliveries are lost.
func TestOldRowsThatSomebodyDeletesAreMadeAgainFromTheirEvents(t *testing.T) {
	for name, filters := range map[string][]string{"rows": {"bus.d.>"}, "rows and events": {"bus.d.>", "bus.e.>"}} {
		t.Run(name, func(t *testing.T) {
			before := buslog.WholeBytes
			buslog.WholeBytes = 0
			defer func() { buslog.WholeBytes = before }()
			memory := buslog.Sizes
			buslog.Sizes.Ring = 4
			defer func() { buslog.Sizes = memory }()
			synctest.Test(t, func(t *testing.T) {
				server, log := servertest.Start(t, t.TempDir()), &textLog{}
				bus, err := runtime.Open(t.Context(), "nats://test/bus", conformance.Catalogue, runtime.WithLogger(slog.New(slog.NewTextHandler(log, nil))),
					jetstream.Engine(jetstream.InMemory(), jetstream.Through(func(string) (*nats.Conn, error) { return server.Connect() })))
				conformance.Must(t, err)
				retried := 0
				_, err = runtime.Subscribe(bus, conformance.PlacedType, "orders", func(_ context.Context, e runtime.Event[conformance.OrderPlaced]) error {
					switch {
					case e.Payload.Number%2 == 0:
						return runtime.Permanent(errors.New("never"))
					case e.Attempt == 1:
						return runtime.RetryAfter(time.Hour, errors.New("later"))
					}
					retried++
					return nil
				})
				conformance.Must(t, err)
				conformance.Must(t, bus.Start(t.Context()))
				publish := func() {
					_, err := runtime.Publish(t.Context(), bus, conformance.UserType, conformance.UserCreated{})
					conformance.Must(t, err)
					time.Sleep(time.Minute)
				}
				for n := range 10 {
					_, err := runtime.Publish(t.Context(), bus, conformance.PlacedType, conformance.OrderPlaced{OrderID: "A", Number: n})
					conformance.Must(t, err)
				}
				for range 5 {
					publish()
				}
				s, err := clientOf(t, server).Stream(t.Context(), "bus")
				conformance.Must(t, err)
				for _, filter := range filters {
					conformance.Must(t, s.Purge(t.Context(), js.WithPurgeSubject(filter)))
				}
				publish()
				time.Sleep(2 * time.Hour)
				dead := 0
				for _, m := range rowsOf(t, server) {
					if strings.Contains(string(m.Data), `"state":"dead"`) {
						dead++
					}
				}
				conformance.Must(t, bus.Shutdown(t.Context()))
				want, says := 5, "restored=10 lost=0"
				if len(filters) > 1 {
					want, says = 0, "restored=0 lost=10"
				}
				if retried != want || dead != want || log.count(says) != 1 {
					t.Errorf("%d deliveries are tried again and %d are dead letters, want %d of each; and the log has to say %q:\n%s", retried, dead, want, says, log.text.String())
				}
			})
		})
	}
}

// Nobody has the records in memory: the error says what to do.
func TestABusThatSomebodyHasPurgedWhileNoneRunsIsNotOpened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := servertest.Start(t, t.TempDir())
		open := func() error {
			bus, err := runtime.Open(t.Context(), "nats://test/bus", conformance.Catalogue, runtime.WithLogger(slog.New(slog.DiscardHandler)),
				jetstream.Engine(jetstream.InMemory(), jetstream.Through(func(string) (*nats.Conn, error) { return server.Connect() })))
			if err == nil {
				err = bus.Shutdown(t.Context())
			}
			return err
		}
		conformance.Must(t, open())
		s, err := clientOf(t, server).Stream(t.Context(), "bus")
		conformance.Must(t, err)
		conformance.Must(t, s.Purge(t.Context()))
		var storage *event.StorageError
		if err := open(); !errors.As(err, &storage) || !strings.Contains(err.Error(), "nats stream rm bus") {
			t.Errorf("Open returns %v, want a StorageError that says what to do", err)
		}
	})
}

// eachKind purges all kinds of records but the registry, and the events.
func eachKind(t *testing.T, s js.Stream, purge func(string) func(*testing.T, js.Stream)) {
	for _, kind := range []string{"c.>", "d.>", "k.>", "r.>", "a.>", "s.>", "l.>", "b.>", "o", "t", "v", "q", "p", "h"} {
		purge("bus."+kind)(t, s)
	}
}

func eachMessage(t *testing.T, s js.Stream, filter string) {
	info, err := s.Info(context.Background(), js.WithSubjectFilter(filter))
	conformance.Must(t, err)
	for subject := range info.State.Subjects {
		m, err := s.GetLastMsgForSubject(context.Background(), subject)
		conformance.Must(t, err)
		conformance.Must(t, s.DeleteMsg(context.Background(), m.Sequence))
	}
}
