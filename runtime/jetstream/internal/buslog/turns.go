package buslog

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// Changes of single records, such as an entry of the audit, are refused if somebody else
// has changed the record meanwhile; then they are made anew. Those of one process take turns:
// otherwise forty that come at once would be refused again and again, and wait for longer
// each time.

// editor changes records of the stream, one change of this process at a time. The view changes when they arrive.
type editor struct {
	follower
	changing chan struct{} // holds a token while records are changed
	entries  int64         // of the audit, in the batch that is being made; guarded by mu
}

func (ed *editor) init(s *stream.Stream, target string, options engine.Options) {
	ed.follower.init(s, target, options)
	ed.changing = make(chan struct{}, 1)
}

// turn waits until no other change of this process is on its way. The caller calls done when
// its own is stored.
func (ed *editor) turn(ctx context.Context) (done func(), err error) {
	select {
	case ed.changing <- struct{}{}:
		return func() { <-ed.changing }, nil
	case <-ed.stopped:
		return nil, ed.ended()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// edit stores the messages that change returns, all or nothing. change is called again, with
// mu held, if somebody else has changed one of the records meanwhile, and while the servers cannot
// store anything.
func (ed *editor) edit(ctx context.Context, change func() ([]*stream.Msg, error)) error {
	done, err := ed.turn(ctx)
	if err != nil {
		return err
	}
	defer done()
	tries := 0
	for began := time.Now(); ; {
		if err := ed.sync(ctx); err != nil {
			return err
		}
		if err := ed.enter(); err != nil {
			return err
		}
		ed.entries = 0
		msgs, err := change()
		ed.mu.Unlock()
		msgs = slices.DeleteFunc(msgs, func(m *stream.Msg) bool { return m == nil })
		if err != nil || len(msgs) == 0 {
			return err
		}
		first, err := ed.append(ctx, msgs...)
		if errors.Is(err, stream.ErrConflict) {
			if err := ed.refused(ctx, msgs); err != nil {
				return err
			}
			ed.yield(ctx, &tries)
			continue
		}
		if err != nil && !errors.Is(err, stream.ErrInDoubt) && ed.waits(ctx, began, err) {
			continue
		}
		if err != nil {
			return ed.storage("change", err)
		}
		return ed.learn(ctx, first+int64(len(msgs))-1)
	}
}

// yield waits before the next try, when somebody else has changed a record at the same time.
// If that happens again and again, the records may be other ones.
func (ed *editor) yield(ctx context.Context, tries *int) {
	if *tries++; *tries == 1 {
		return
	}
	if *tries%lookTries == 0 {
		go ed.verify()
	}
	select {
	case <-time.After(min(time.Duration(*tries)*flushDelay, time.Second)):
	case <-ed.stopped:
	case <-ctx.Done():
	}
}

// lookTries is after how many tries it is time to look.
const lookTries = 4
