package sqlite

import (
	"testing"
	"time"
)

func TestThePublishersOfATransaction(t *testing.T) {
	const ms = time.Millisecond
	tests := map[string]struct {
		sync, back    time.Duration
		first, halves bool
		publishers    int
	}{
		"share each sync, if they are back before another one could be done":    {sync: 2 * ms, back: ms, publishers: 128},
		"take turns in halves, if they take longer than a sync":                 {sync: ms, back: 2 * ms, publishers: 128, halves: true},
		"share each sync, if they are few":                                      {sync: ms, back: 2 * ms, publishers: 31},
		"share each sync where it takes no time that could be told from theirs": {sync: ms, back: ms, publishers: 128},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var r rhythm
			size, queued := test.publishers, 0 // in the transaction, and in the queue at its end
			waits, alone := 0, 0
			for range 10 * turnsHalved {
				expected := r.next(size, queued)
				switch {
				case queued >= expected: // they go, and those of the transaction queue meanwhile
					size, queued = queued, size
				case expected == size+queued:
					r.waited(test.back)
					size, queued = size+queued, 0
					alone++
				default: // the rest of them queue while these are written
					r.waited(test.back * time.Duration(expected) / time.Duration(size))
					size, queued = expected, size+queued-expected
				}
				if size == test.publishers {
					waits++
				}
				r.committed(test.sync)
			}
			if halves := waits < 10*turnsHalved/2; halves != test.halves {
				t.Errorf("of %d transactions %d are for all %d publishers", 10*turnsHalved, waits, test.publishers)
			}
			if test.halves && (waits < 9 || waits > 40) {
				t.Errorf("halves are together in %d of %d transactions, so their time is known from then", waits, 10*turnsHalved)
			}
		})
	}
}

func TestHalvesAreTogetherAgainWhenTheDiskIsSlower(t *testing.T) {
	r := rhythm{sync: time.Millisecond, back: 2 * time.Millisecond}
	if n := r.next(64, 64); n != 64 {
		t.Fatalf("one of two halves waits for %d", n)
	}
	for range 50 {
		r.committed(5 * time.Millisecond)
	}
	if n := r.next(128, 0); n != 128 {
		t.Errorf("a transaction of 128 waits for %d", n)
	}
}

func TestOneWhoIsLateSaysNothingOfHowLongAllTake(t *testing.T) {
	r := rhythm{sync: time.Millisecond, back: 2 * time.Millisecond}
	for range 50 {
		if n := r.next(70, 56); n != 63 {
			t.Fatalf("one of two halves waits for %d", n)
		}
		r.waited(time.Microsecond)
	}
}
