package main

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"time"

	"github.com/busgen/busgen/bench/events"
	"github.com/busgen/busgen/runtime/gen/wire"
)

// encode compares the generated way of turning a payload into JSON with
// encoding/json.
func encode(ctx context.Context, s *setting) (result, error) {
	codec := wire.NewCodec[events.OrderPlaced]()
	return compareCalls(ctx, s,
		func() error { _, err := codec.Encode(sample); return err },
		func() error { _, err := json.Marshal(&sample); return err })
}

// decode compares the generated way back with encoding/json.
func decode(ctx context.Context, s *setting) (result, error) {
	codec := wire.NewCodec[events.OrderPlaced]()
	encoded, err := codec.Encode(sample)
	if err != nil {
		return result{}, err
	}
	if again, err := codec.Decode(encoded); err != nil || !again.PlacedAt.Equal(sample.PlacedAt) {
		return result{}, fmt.Errorf("%s was decoded as %+v, %v", encoded, again, err)
	}
	return compareCalls(ctx, s,
		func() error { _, err := codec.Decode(encoded); return err },
		func() error { var value events.OrderPlaced; return json.Unmarshal(encoded, &value) })
}

// compareCalls compares two ways to do the same thing on one goroutine, by
// their calls per second and by what they allocate.
func compareCalls(ctx context.Context, s *setting, ours, limit func() error) (result, error) {
	rounds, err := takeTurns(ctx, s.total, 10*time.Millisecond, calls(ours), calls(limit))
	if err != nil {
		return result{}, err
	}
	r := compare(rounds, 0, 1).result()
	r.Allocs, r.LimitAllocs = allocations(ours), allocations(limit)
	return r, nil
}

// calls is the side that calls do.
func calls(do func() error) side {
	return func(d time.Duration) (total int, err error) {
		for until := time.Now().Add(d); total == 0 || time.Now().Before(until); {
			for range 100 {
				if err := do(); err != nil {
					return total, err
				}
			}
			total += 100
		}
		return total, nil
	}
}

// allocations returns how many allocations a call makes on average, if no other
// goroutine makes any.
func allocations(do func() error) float64 {
	const calls = 10_000
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range calls {
		do()
	}
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs-before.Mallocs) / calls
}
