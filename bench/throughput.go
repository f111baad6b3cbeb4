package main

import (
	"context"
	"time"
)

// These cases let a load take turns with something it is compared with.
//
// Each side has one file for all its slices. A new file per slice would leave
// out what a log in use pays for all the time: moving the write-ahead log into
// the database every thousand pages, and an index of more than a few pages. The
// files start empty and grow side by side.

// throughput compares a load with the bare loop at that many rows per commit, and with
// what the storage could do at best.
func throughput(l load, rows int, each time.Duration) runner {
	return func(ctx context.Context, s *setting) (result, error) {
		bus, err := s.bus(ctx, s.file(), l)
		if err != nil {
			return result{}, err
		}
		limits, err := s.limits(ctx, rows)
		if err != nil {
			return result{}, err
		}
		rounds, err := takeTurns(ctx, s.total, each, append([]side{bus}, limits...)...)
		return compareLimits(rounds), err
	}
}

// limits returns the sides that compareLimits expects after the first: the bare loop with a
// statement for each row, with one for many rows, and a plain file.
func (s *setting) limits(ctx context.Context, rows int) ([]side, error) {
	one, err := s.openLimit(ctx)
	if err != nil {
		return nil, err
	}
	many, err := s.openLimit(ctx)
	if err != nil {
		return nil, err
	}
	plain, err := newPlainFile(s.file())
	if err != nil {
		return nil, err
	}
	s.closing = append(s.closing, plain.Close)
	return []side{
		func(d time.Duration) (int, error) { return one.insertFor(d, rows) },
		func(d time.Duration) (int, error) { return many.togetherFor(d, rows) },
		func(d time.Duration) (int, error) { return plain.appendFor(d, rows) },
	}, nil
}

func compareLimits(rounds []round) result {
	r := compare(rounds, 0, 1).result()
	r.OfTogether, r.OfPlainFile = compare(rounds, 0, 2).ratio(), compare(rounds, 0, 3).ratio()
	return r
}

// handledSlice is longer than other slices: each ends with waiting until
// everything is handled.
const handledSlice = 150 * time.Millisecond

// endToEnd compares 128 publishers whose events are handled by that many
// subscriptions with the bare loop, and also with publishing alone.
func endToEnd(subscriptions int) runner {
	return func(ctx context.Context, s *setting) (result, error) {
		bus, err := s.bus(ctx, s.file(), publishers(128).handledBy(subscriptions))
		if err != nil {
			return result{}, err
		}
		limits, err := s.limits(ctx, 128)
		if err != nil {
			return result{}, err
		}
		publishing, err := s.bus(ctx, s.file(), publishers(128))
		if err != nil {
			return result{}, err
		}
		rounds, err := takeTurns(ctx, s.total, handledSlice, append(append([]side{bus}, limits...), publishing)...)
		r := compareLimits(rounds)
		r.OfPublish128 = compare(rounds, 0, 4).ratio()
		return r, err
	}
}

// batched compares a handler of batches with one that gets the same events one by one. Both sides
// publish alike. A batch saves what a handler does once per call: a transaction, a request. A
// handler that does nothing gains little, because publishing takes longer than handling.
func batched(l load) runner {
	return func(ctx context.Context, s *setting) (result, error) {
		together, err := s.bus(ctx, s.file(), l.inBatches())
		if err != nil {
			return result{}, err
		}
		single, err := s.bus(ctx, s.file(), l)
		if err != nil {
			return result{}, err
		}
		rounds, err := takeTurns(ctx, s.total, handledSlice, together, single)
		return compare(rounds, 0, 1).result(), err
	}
}

// batchedThroughout compares events that are published and handled in batches with e2e-1, and
// also with events that are published in the same batches and handled one by one.
func batchedThroughout(ctx context.Context, s *setting) (result, error) {
	pages := batches(1000).handledBy(1)
	together, err := s.bus(ctx, s.file(), pages.inBatches())
	if err != nil {
		return result{}, err
	}
	apart, err := s.bus(ctx, s.file(), publishers(128).handledBy(1))
	if err != nil {
		return result{}, err
	}
	single, err := s.bus(ctx, s.file(), pages)
	if err != nil {
		return result{}, err
	}
	rounds, err := takeTurns(ctx, s.total, handledSlice, together, apart, single)
	r := compare(rounds, 0, 1).result()
	r.OfSingle = compare(rounds, 0, 2).ratio()
	return r, err
}

// fanout compares the deliveries to many subscriptions with the events of
// publishing alone.
func fanout(subscriptions int) runner {
	return func(ctx context.Context, s *setting) (result, error) {
		bus, err := s.bus(ctx, s.file(), publishers(128).handledBy(subscriptions))
		if err != nil {
			return result{}, err
		}
		publishing, err := s.bus(ctx, s.file(), publishers(128))
		if err != nil {
			return result{}, err
		}
		rounds, err := takeTurns(ctx, s.total, handledSlice, bus, publishing)
		c := compare(rounds, 0, 1)
		c.ours.events *= subscriptions
		return c.result(), err
	}
}

// history compares a file that many events have gone through with a new one.
func history(ctx context.Context, s *setting) (result, error) {
	used := s.file()
	events, err := fill(ctx, used, s.events, true, s.fillFor)
	if err != nil {
		return result{}, err
	}
	load := publishers(128).handledBy(1)
	old, err := s.bus(ctx, used, load)
	if err != nil {
		return result{}, err
	}
	fresh, err := s.bus(ctx, s.file(), load)
	if err != nil {
		return result{}, err
	}
	rounds, err := takeTurns(ctx, s.total, handledSlice, old, fresh)
	r := compare(rounds, 0, 1).result()
	r.Events = events
	return r, err
}
