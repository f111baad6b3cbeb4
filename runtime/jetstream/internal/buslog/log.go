package buslog

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// Log is an open log. It implements [engine.Log]. It is what all of its layers are together: doc.go has them.
type Log struct {
	cluster
	pruning pruning
}

var _ engine.Log = (*Log)(nil)

// Open opens the log of a stream, for a bus.
func Open(ctx context.Context, s *stream.Stream, target string, options engine.Options) (*Log, error) {
	return open(ctx, s, target, options, false)
}

// open is Open; allRows says that all rows are whole.
func open(ctx context.Context, s *stream.Stream, target string, options engine.Options, allRows bool) (*Log, error) {
	l := &Log{}
	l.init(s, target, options)
	l.allRows = allRows
	s.OnRenewal(l.renewed)
	for began := time.Now(); ; {
		err := l.load(ctx, false)
		if err == nil {
			break
		}
		if !l.waits(ctx, began, err) {
			return nil, l.storage("open", err)
		}
	}
	if err := s.Answer(l.pingSubject(l.instance), l.answerPing); err != nil {
		l.stopFollowing()
		return nil, l.storage("open", err)
	}
	if l.registry.Log == uuid.Nil {
		err := l.change(ctx, func(r *registry) error {
			if r.Log == uuid.Nil {
				r.Log = uuid.New()
			}
			return nil
		})
		if err != nil {
			l.stopFollowing()
			return nil, err
		}
	}
	return l, nil
}

// Traits implements [engine.Log].
func (l *Log) Traits() engine.Traits {
	payload, metadata := l.sizes()
	return engine.Traits{Target: l.target, StoresKeys: true, MaxPayload: payload, MaxMetadata: metadata}
}

// closeTime is how long Close waits for the server.
const closeTime = 5 * time.Second

// Close implements [engine.Inspection].
func (l *Log) Close() error { return l.CloseWithin(context.Background()) }

// CloseWithin implements [engine.Log]. The subscriptions of this process are free for others.
func (l *Log) CloseWithin(ctx context.Context) error {
	if l.enter() != nil { // a second time, or it is broken
		l.stopFollowing()
		l.stream.Close()
		return nil
	}
	l.leaving = true
	units := make([]*unit, 0, len(l.units))
	for _, u := range l.units {
		units = append(units, u)
		if u.consumer != nil {
			u.consumer.end()
		}
	}
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, closeTime)
	defer cancel()
	var all []error
	var wait sync.WaitGroup
	var mu sync.Mutex
	for _, u := range units {
		wait.Go(func() {
			if err := l.release(ctx, u); err != nil {
				mu.Lock()
				all = append(all, err)
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	l.mu.Lock()
	dispatching := l.dispatching
	l.mu.Unlock()
	if dispatching {
		all = append(all, l.join(ctx), l.hide(ctx))
	}
	l.mu.Lock()
	l.closed = true
	close(l.stopped)
	l.wakeAll()
	l.mu.Unlock()
	l.stopFollowing()
	l.stream.Close()
	return l.storage("close", errors.Join(all...))
}
