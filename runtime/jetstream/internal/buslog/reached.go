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
func (v *logView) settlement() <-chan struct{} {
	if v.settled == nil {
		v.settled = make(chan struct{})
	}
	return v.settled
}

func (v *logView) noteSettled() {
	if v.settled != nil {
		close(v.settled)
		v.settled = nil
	}
}

// reach waits until everything up to a sequence number has arrived. The view has it when
// its batch is complete.
func (f *follower) reach(ctx context.Context, seq int64) error {
	if f.come.Load() >= seq && !f.isClosed() {
		return nil
	}
	if err := f.enter(); err != nil {
		return err
	}
	if f.received >= seq {
		f.mu.Unlock()
		return nil
	}
	f.expect(seq)
	w := reaching{seq, make(chan struct{})}
	at, _ := slices.BinarySearchFunc(f.reaching, seq+1, func(w reaching, seq int64) int { return cmp.Compare(w.seq, seq) })
	f.reaching = slices.Insert(f.reaching, at, w)
	f.mu.Unlock()
	select {
	case <-w.reached:
		return nil
	case <-f.stopped:
		return f.ended()
	case <-ctx.Done():
		f.mu.Lock()
		f.reaching = slices.DeleteFunc(f.reaching, func(other reaching) bool { return other == w })
		f.mu.Unlock()
		return ctx.Err()
	}
}

// learn waits until the view has a batch that this process has stored, which ends at a sequence number. The last
// message of the batch never comes if somebody has replaced it already. Then what comes next may be half of the batch
// that says so, which is no part of the view yet.
func (f *follower) learn(ctx context.Context, end int64) error {
	if err := f.reach(ctx, end); err != nil {
		return err
	}
	f.mu.Lock()
	behind := f.applied < end
	f.mu.Unlock()
	if behind {
		return f.sync(ctx)
	}
	return nil
}

// reaching is somebody who waits until a message has arrived.
type reaching struct {
	seq     int64
	reached chan struct{}
}

// noteReached wakes whoever waits for what has arrived. The caller holds mu.
func (f *follower) noteReached() {
	n := 0
	for ; n < len(f.reaching) && f.reaching[n].seq <= f.received; n++ {
		close(f.reaching[n].reached)
	}
	f.reaching = slices.Delete(f.reaching, 0, n)
}

// newest asks the leader for the number of the newest message, again while the servers elect one. If
// one answers that is no leader any more, the number of a note is the newest.
func (f *follower) newest(ctx context.Context) (int64, error) {
	for began := time.Now(); ; {
		now, err := f.state(ctx)
		if errors.Is(err, stream.ErrBehind) {
			now.Last, err = f.note(ctx)
		}
		if err == nil || !f.waits(ctx, began, err) {
			return now.Last, err
		}
	}
}

// sync waits until the view has everything that the leader has now.
func (f *follower) sync(ctx context.Context) error {
	if err := f.enter(); err != nil {
		return err
	}
	f.mu.Unlock()
	if !f.followsAll.Load() {
		return f.followAll(ctx)
	}
	last, err := f.newest(ctx)
	if err != nil {
		return f.storage("read", err)
	}
	for began := time.Now(); ; {
		f.mu.Lock()
		after := f.received
		if after >= last {
			f.mu.Unlock()
			return nil
		}
		f.mu.Unlock()
		// The newest messages may be deleted: then they never come.
		switch next, err := f.stream.NextKnown(ctx, f.subject(">"), after+1, last); {
		case errors.Is(err, stream.ErrNotFound):
			f.mu.Lock()
			f.applyBatch()
			f.mu.Unlock()
			return nil
		case err != nil && f.waits(ctx, began, err):
		case err != nil:
			return f.storage("read", err)
		default:
			if err := f.reach(ctx, min(next.Seq, last)); err != nil {
				return err
			}
		}
	}
}
