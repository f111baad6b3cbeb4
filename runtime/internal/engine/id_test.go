package engine_test

import (
	"bytes"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/engine"
)

func TestAnIDIsAUUIDOfVersion7WithTheTimeOfNow(t *testing.T) {
	for range 1000 {
		before := time.Now().UnixMilli()
		id := engine.NewID()
		if id.Version() != 7 || id.Variant() != uuid.RFC4122 {
			t.Fatalf("%s has version %d and variant %v", id, id.Version(), id.Variant())
		}
		sec, nsec := id.Time().UnixTime()
		if at := sec*1000 + nsec/1e6; at < before || at > time.Now().UnixMilli()+1 {
			t.Fatalf("%s says %d, and the time is %d", id, at, before)
		}
	}
}

func TestIDsRiseInEachGoroutineAndNoneIsThereTwice(t *testing.T) {
	var mu sync.Mutex
	seen := map[uuid.UUID]bool{}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			ids := make([]uuid.UUID, 5000)
			for i := range ids {
				ids[i] = engine.NewID()
			}
			mu.Lock()
			defer mu.Unlock()
			for i, id := range ids {
				if i > 0 && bytes.Compare(ids[i-1][:8], id[:8]) >= 0 {
					t.Errorf("%s does not come after %s", id, ids[i-1])
				}
				if seen[id] {
					t.Errorf("%s is there twice", id)
				}
				seen[id] = true
			}
		})
	}
	all.Wait()
}

func TestTheRandomPartOfIDsIsRandom(t *testing.T) {
	var ones, zeros [8]byte
	for range 200 {
		id := engine.NewID()
		for i, b := range id[8:] {
			ones[i] |= b
			zeros[i] |= ^b
		}
	}
	if ones != [8]byte{0xbf, 255, 255, 255, 255, 255, 255, 255} || zeros != [8]byte{0x7f, 255, 255, 255, 255, 255, 255, 255} {
		t.Errorf("bits that were one: %x, that were zero: %x", ones, zeros)
	}
}

func TestAnIDAllocatesNothing(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { _ = engine.NewID() }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
