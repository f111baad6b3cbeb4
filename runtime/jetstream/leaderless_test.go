package jetstream_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/jetstream/internal/servertest"
)

// A process takes over from one that has died while its handler ran. Meanwhile the stream has no leader: nobody is
// there for one of the requests that this needs.
func TestStartWaitsForALeaderWhateverItAsksFirst(t *testing.T) {
	for _, asks := range []string{"bus.o", "$JS.API.STREAM.INFO.bus", "$JS.API.STREAM.MSG.GET.bus"} {
		t.Run(asks, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := &torture{t: t, server: servertest.Start(t, t.TempDir()), random: rand.New(rand.NewPCG(1, 0)), acked: map[int]int{}, succeeded: map[int]int{}}
				open := func(handle runtime.Handler[conformance.OrderPlaced]) *worker {
					w, err := x.open()
					conformance.Must(t, err)
					_, err = runtime.Subscribe(w.bus, conformance.PlacedType, "orders", handle, runtime.FromBeginning(), runtime.WithConcurrency(4))
					conformance.Must(t, err)
					return w
				}
				begun := make(chan struct{})
				first := open(func(ctx context.Context, _ runtime.Event[conformance.OrderPlaced]) error {
					close(begun)
					<-ctx.Done()
					return ctx.Err()
				})
				conformance.Must(t, first.bus.Start(t.Context()))
				_, err := runtime.Publish(t.Context(), first.bus, conformance.PlacedType, conformance.OrderPlaced{OrderID: "A"})
				conformance.Must(t, err)
				<-begun
				first.end()

				handled := make(chan struct{}, 10)
				second := open(func(context.Context, runtime.Event[conformance.OrderPlaced]) error {
					handled <- struct{}{}
					return nil
				})
				time.AfterFunc(2*time.Second, func() { second.line.Divert(asks, strings.Repeat("x", len(asks))) }) // it looks who is alive
				time.AfterFunc(12*time.Second, second.line.Undivert)
				defer second.bus.Shutdown(context.Background())
				if err := second.bus.Start(t.Context()); err != nil {
					t.Error(err)
					return
				}
				select {
				case <-handled:
				case <-time.After(time.Minute):
					t.Error("nothing is handled")
				}
			})
		})
	}
}
