package buslog

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// Changes of single records, such as an entry of the audit, are refused if somebody else
// has changed the record meanwhile; then they are made anew. Those of one process take turns:
// otherwise forty that come at once would be refused again and again, and wait for longer
// each time.

// turn waits until no other change of this process is on its way. The caller calls done when
// its own is stored.
func (l *Log) turn(ctx context.Context) (done func(), err error) {
	select {
	case l.changing <- struct{}{}:
		return func() { <-l.changing }, nil
	case <-l.stopped:
		return nil, l.ended()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// edit stores the messages that change returns, all or nothing. change is called again, with
// mu held, if somebody else has changed one of the records meanwhile, and while the servers cannot
// store anything.
func (l *Log) edit(ctx context.Context, change func() ([]*stream.Msg, error)) error {
	done, err := l.turn(ctx)
	if err != nil {
		return err
	}
	defer done()
	tries := 0
	for began := time.Now(); ; {
		if err := l.sync(ctx); err != nil {
			return err
		}
		if err := l.enter(); err != nil {
			return err
		}
		l.entries = 0
		msgs, err := change()
		l.mu.Unlock()
		msgs = slices.DeleteFunc(msgs, func(m *stream.Msg) bool { return m == nil })
		if err != nil || len(msgs) == 0 {
			return err
		}
		first, err := l.append(ctx, msgs...)
		if errors.Is(err, stream.ErrConflict) {
			if err := l.refused(ctx, msgs); err != nil {
				return err
			}
			l.yield(ctx, &tries)
			continue
		}
		if err != nil && !errors.Is(err, stream.ErrInDoubt) && l.waits(ctx, began, err) {
			continue
		}
		if err != nil {
			return l.storage("change", err)
		}
		return l.learn(ctx, first+int64(len(msgs))-1)
	}
}

// yield waits before the next try, when somebody else has changed a record at the same time.
// If that happens again and again, the records may be other ones.
func (l *Log) yield(ctx context.Context, tries *int) {
	if *tries++; *tries == 1 {
		return
	}
	if *tries%lookTries == 0 {
		go l.verify()
	}
	select {
	case <-time.After(min(time.Duration(*tries)*flushDelay, time.Second)):
	case <-l.stopped:
	case <-ctx.Done():
	}
}

// lookTries is after how many tries it is time to look.
const lookTries = 4
