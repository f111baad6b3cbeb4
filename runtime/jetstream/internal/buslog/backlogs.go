package buslog

import (
	"cmp"
	"context"
	"slices"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// An event that an administrator deletes, and that is not in memory, is lost for the subscriptions that have not come to it.
// Nobody knows how many there were. But each process remembers a few events of the backlog of what it handles. If it comes
// to the place of one of them, and it is not there and was not pruned, the log says so.

// sampled is how many events of the backlog of a subscription are remembered at a time, and mostSampled how many a process
// remembers.
const (
	sampled     = 4
	mostSampled = 64
)

// rememberBacklogs remembers some events that are not in memory, and that a subscription has not come to.
func (l *Log) rememberBacklogs() {
	var from []int64
	l.mu.Lock()
	known, end := l.received, l.ring.from // what comes then is in memory
	for _, u := range l.units {
		for _, at := range u.sub.live() {
			if next := u.sub.parts[at].Next; u.parts[at].owned && next < end && !slices.Contains(from, next) {
				from = append(from, next)
			}
		}
	}
	l.mu.Unlock()
	var found []int64
	for _, next := range from[:min(len(from), mostSampled/sampled)] {
		for i := range int64(sampled) {
			m, err := l.stream.NextKnown(context.Background(), l.subject(eventToken, ">"), next+(end-next)*i/sampled, known)
			if err != nil || m.Seq >= end {
				continue
			}
			if _, err := eventOf(m); err == nil {
				found = append(found, m.Seq)
			}
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(from) == 0 {
		l.backlog = nil
		return
	}
	l.backlog = append(l.backlog, found...)
	slices.Sort(l.backlog)
	l.backlog = slices.Compact(l.backlog)
	for len(l.backlog) > mostSampled {
		at := 0
		l.backlog = slices.DeleteFunc(l.backlog, func(int64) bool { at++; return at%2 == 0 })
	}
}

// compare compares the events from a sequence number on, up to another, with those that are remembered. The caller holds
// mu.
func (l *Log) compare(seq, until int64, events []*engine.Record) {
	var missing []int64
	for at, _ := slices.BinarySearch(l.backlog, seq); at < len(l.backlog) && l.backlog[at] <= until; at++ {
		if _, there := slices.BinarySearchFunc(events, l.backlog[at], func(e *engine.Record, seq int64) int { return cmp.Compare(e.Seq, seq) }); !there {
			missing = append(missing, l.backlog[at])
		}
	}
	if len(missing) == 0 {
		return
	}
	l.backlog = slices.DeleteFunc(l.backlog, func(seq int64) bool { return slices.Contains(missing, seq) })
	go func() {
		h, err := l.history(context.Background())
		if err != nil {
			return
		}
		pruned := h.seqs()
		missing := slices.DeleteFunc(missing, func(seq int64) bool { return slices.Contains(pruned, seq) })
		if len(missing) > 0 {
			l.logger.Error("somebody has deleted events that a subscription has not come to; they are lost for it", "from", missing[0], "to", missing[len(missing)-1])
		}
	}()
}
