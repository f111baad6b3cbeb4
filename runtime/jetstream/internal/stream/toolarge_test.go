package stream_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// The server keeps a batch without an end for ten seconds, and fifty of them at most.
func TestABatchThatIsTooLargeLeavesNothingAtTheServer(t *testing.T) {
	large := map[string]*stream.Msg{
		"body":                        {Subject: "bus.x", Data: make([]byte, 2<<20)},
		"body with what a batch adds": {Subject: "bus.x", Data: make([]byte, 1<<20-40)},
		"header":                      {Subject: "bus.x", Header: []stream.Header{{Name: "Note", Value: string(make([]byte, 1<<16))}}},
	}
	for name, m := range large {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := follow(t)
				small := &stream.Msg{Subject: "bus.x"}
				for range 60 {
					if _, _, err := f.writer.Append(t.Context(), small, m, small); !errors.Is(err, stream.ErrTooLarge) {
						t.Fatalf("Append returns %v, want ErrTooLarge", err)
					}
				}
				if first, _, err := f.writer.Append(t.Context(), small, small); first != 1 || err != nil {
					t.Errorf("Append of a small batch returns %d, %v", first, err)
				}
			})
		})
	}
}
