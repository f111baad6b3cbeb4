package jetstream_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/jetstream/internal/servertest"
)

// On one replica events with keys are stored together with those of other callers, in two processes. One that is
// refused refuses no other.
func TestKeysOfManyPublishersAreUsedOnceEach(t *testing.T) {
	const keys, callers = 60, 4
	synctest.Test(t, func(t *testing.T) {
		server := servertest.Start(t, t.TempDir())
		one, _ := process(t, server, nil)
		other, _ := process(t, server, nil)
		var mu sync.Mutex
		stored, conflicts, duplicates := map[uuid.UUID]int{}, 0, 0
		var running sync.WaitGroup
		for n := range keys * callers {
			running.Go(func() {
				bus, number := one, 0
				if n/keys%2 == 1 {
					bus = other
				}
				if n/keys == 3 {
					number = 1 // another payload
				}
				receipt, err := runtime.Publish(t.Context(), bus, conformance.PlacedType, conformance.OrderPlaced{OrderID: fmt.Sprint(n % keys), Number: number},
					runtime.WithDedupeKey(fmt.Sprint(n%keys)))
				mu.Lock()
				defer mu.Unlock()
				var conflict *event.ConflictError
				switch {
				case errors.As(err, &conflict):
					conflicts++
				case err != nil:
					t.Error(err)
				case receipt.Duplicate:
					duplicates++
				default:
					stored[receipt.ID]++
				}
			})
		}
		running.Wait()
		if len(stored) != keys || conflicts+duplicates != keys*(callers-1) {
			t.Errorf("%d keys have %d events, %d conflicts and %d duplicates", keys, len(stored), conflicts, duplicates)
		}
		for id, n := range stored {
			if n != 1 {
				t.Errorf("%d callers have stored event %v", n, id)
			}
		}
		if n := len(batchesOf(t, server)); n >= keys { // how many share one depends on who comes when
			t.Errorf("%d events with keys were stored by %d atomic batches", keys, n)
		}
	})
}

// batchesOf returns how many messages each atomic batch has stored.
func batchesOf(t *testing.T, server *servertest.Server) map[string]int {
	t.Helper()
	stream, err := clientOf(t, server).Stream(t.Context(), "bus")
	conformance.Must(t, err)
	batches := map[string]int{}
	for seq := uint64(1); seq <= stream.CachedInfo().State.LastSeq; seq++ {
		if m, err := stream.GetMsg(t.Context(), seq); err == nil && m.Header.Get("Nats-Batch-Id") != "" {
			batches[m.Header.Get("Nats-Batch-Id")]++
		}
	}
	return batches
}
