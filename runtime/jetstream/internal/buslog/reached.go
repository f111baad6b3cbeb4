package buslog

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// settlement returns a channel that is closed when deliveries are settled. The caller
// holds mu.
func (l *Log) settlement() <-chan struct{} {
	if l.settled == nil {
		l.settled = make(chan struct{})
	}
	return l.settled
}

func (l *Log) noteSettled() {
	if l.settled != nil {
		close(l.settled)
		l.settled = nil
	}
}

// reach waits until everything up to a sequence number has arrived. The view has it when
// its batch is complete.
func (l *Log) reach(ctx context.Context, seq int64) error {
	if l.come.Load() >= seq && !l.isClosed() {
		return nil
	}
	if err := l.enter(); err != nil {
		return err
	}
	if l.received >= seq {
		l.mu.Unlock()
		return nil
	}
	l.expect(seq)
	w := reaching{seq, make(chan struct{})}
	at, _ := slices.BinarySearchFunc(l.reaching, seq+1, func(w reaching, seq int64) int { return cmp.Compare(w.seq, seq) })
	l.reaching = slices.Insert(l.reaching, at, w)
	l.mu.Unlock()
	select {
	case <-w.reached:
		return nil
	case <-l.stopped:
		return l.ended()
	case <-ctx.Done():
		l.mu.Lock()
		l.reaching = slices.DeleteFunc(l.reaching, func(other reaching) bool { return other == w })
		l.mu.Unlock()
		return ctx.Err()
	}
}

// learn waits until the view has a batch that this process has stored, which ends at a sequence number. The last
// message of the batch never comes if somebody has replaced it already. Then what comes next may be half of the batch
// that says so, which is no part of the view yet.
func (l *Log) learn(ctx context.Context, end int64) error {
	if err := l.reach(ctx, end); err != nil {
		return err
	}
	l.mu.Lock()
	behind := l.applied < end
	l.mu.Unlock()
	if behind {
		return l.sync(ctx)
	}
	return nil
}

// reaching is somebody who waits until a message has arrived.
type reaching struct {
	seq     int64
	reached chan struct{}
}

// noteReached wakes whoever waits for what has arrived. The caller holds mu.
func (l *Log) noteReached() {
	n := 0
	for ; n < len(l.reaching) && l.reaching[n].seq <= l.received; n++ {
		close(l.reaching[n].reached)
	}
	l.reaching = slices.Delete(l.reaching, 0, n)
}

// newest asks the leader for the number of the newest message, again while the servers elect one. If
// one answers that is no leader any more, the number of a note is the newest.
func (l *Log) newest(ctx context.Context) (int64, error) {
	for began := time.Now(); ; {
		now, err := l.state(ctx)
		if errors.Is(err, stream.ErrBehind) {
			now.Last, err = l.note(ctx)
		}
		if err == nil || !l.waits(ctx, began, err) {
			return now.Last, err
		}
	}
}

// sync waits until the view has everything that the leader has now.
func (l *Log) sync(ctx context.Context) error {
	if err := l.enter(); err != nil {
		return err
	}
	l.mu.Unlock()
	if !l.followsAll.Load() {
		return l.followAll(ctx)
	}
	last, err := l.newest(ctx)
	if err != nil {
		return l.storage("read", err)
	}
	for began := time.Now(); ; {
		l.mu.Lock()
		after := l.received
		if after >= last {
			l.mu.Unlock()
			return nil
		}
		l.mu.Unlock()
		// The newest messages may be deleted: then they never come.
		switch next, err := l.stream.NextKnown(ctx, l.subject(">"), after+1, last); {
		case errors.Is(err, stream.ErrNotFound):
			l.mu.Lock()
			l.applyBatch()
			l.mu.Unlock()
			return nil
		case err != nil && l.waits(ctx, began, err):
		case err != nil:
			return l.storage("read", err)
		default:
			if err := l.reach(ctx, min(next.Seq, last)); err != nil {
				return err
			}
		}
	}
}
