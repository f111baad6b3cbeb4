package stream

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// defaultHeartbeat is how often the server says that a reader is alive. When it has not said
// so for two times as long, the reader is made anew: its server may be gone.
const defaultHeartbeat = 500 * time.Millisecond

// shortBeat is the shortest that the servers allow.
const shortBeat = 100 * time.Millisecond

func (s *Stream) beat() time.Duration { return cmp.Or(s.heartbeat, defaultHeartbeat) }

// Follow calls each with the messages from a sequence number on, all or those that a filter
// matches, in order and once, from one goroutine, until stop is called: with those that have
// come meanwhile, at most burst together. stop does not wait, so each may be called once
// more. The slice is used again.
func (s *Stream) Follow(ctx context.Context, from int64, filters []string, each func([]Stored)) (stop func(), err error) {
	r := &reader{stream: s, next: max(from, 1), filters: filters, each: each, stopped: make(chan struct{})}
	f, err := r.begin(ctx)
	if err != nil {
		return nil, err
	}
	go r.run(f)
	return sync.OnceFunc(func() { close(r.stopped) }), nil
}

// reader follows a stream, with one feed after another.
type reader struct {
	stream  *Stream
	filters []string // nil for all messages
	each    func([]Stored)
	come    []Stored // that are to be passed on
	next    int64    // the first message that has not come
	stopped chan struct{}
}

func (r *reader) begin(ctx context.Context) (*feed, error) {
	return r.stream.feed(ctx, feedConfig{Deliver: "by_start_sequence", Start: r.next, Filters: r.filters})
}

// run passes messages on. It begins again when some are missing, when the connection was
// lost, and when the server is silent.
func (r *reader) run(f *feed) {
	connected := r.stream.nc.StatusChanged(nats.CONNECTED)
	defer r.stream.nc.RemoveStatusListener(connected)
	beat := time.NewTicker(r.stream.beat())
	defer beat.Stop()
	silent := 0
	for f != nil {
		lost := false
		select {
		case m := <-f.msgs:
			silent = 0
			lost = !r.pass(f, m)
		case <-beat.C:
			silent++
			lost = silent > 2
		case <-connected:
			lost = true
		case <-r.stopped:
			f.end()
			return
		}
		if lost {
			f, silent = r.again(f), 0
		}
	}
}

// burst is how many messages are passed on together at most.
const burst = 16

// pass passes a message on, and those that have come meanwhile. It reports false if some are
// missing.
func (r *reader) pass(f *feed, m *nats.Msg) bool {
	defer r.passOn()
	for {
		stored, ok, err := f.take(m)
		if err != nil {
			return false
		}
		if ok && stored.Seq >= r.next {
			if lag := r.stream.lag; lag != nil {
				r.passOn() // a reader that lags has learned of what came before
				lag()
			}
			r.next = stored.Seq + 1
			if r.come = append(r.come, stored); len(r.come) == burst {
				r.passOn()
			}
		}
		select {
		case <-r.stopped:
			return true
		default:
		}
		select {
		case m = <-f.msgs:
		default:
			return true
		}
	}
}

func (r *reader) passOn() {
	if len(r.come) > 0 {
		r.each(r.come)
		clear(r.come)
		r.come = r.come[:0]
	}
}

// again replaces a feed by one that begins where it has ended. It returns nil when the
// reader is stopped.
func (r *reader) again(f *feed) *feed {
	f.end()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-r.stopped:
			cancel()
		case <-ctx.Done():
		}
	}()
	for {
		f, err := r.begin(ctx)
		if r.stream.renewed != nil {
			go r.stream.renewed()
		}
		if err == nil {
			return f
		}
		select {
		case <-time.After(beginAgain):
		case <-r.stopped:
			return nil
		}
	}
}

// beginAgain is the pause before the next try to read while the servers have no leader.
const beginAgain = 100 * time.Millisecond

// LastOfEach calls each with the last message of every subject that one of the filters
// matches, in the order of the stream. After a gap they come again. It ends with the first
// message that is as new as upTo, the newest one that the caller knows of, or when the server
// says that it has passed that and has nothing more. While messages are replaced, the
// server's count of those that are left is wrong, and it may stop before one that was
// replaced: then this begins again.
func (s *Stream) LastOfEach(ctx context.Context, filters []string, upTo int64, each func(Stored)) error {
	for {
		complete, err := s.lastOfEach(ctx, filters, upTo, each)
		if complete || err != nil {
			return err
		}
	}
}

func (s *Stream) lastOfEach(ctx context.Context, filters []string, upTo int64, each func(Stored)) (complete bool, err error) {
	if upTo == 0 {
		return true, nil
	}
	f, err := s.feed(ctx, feedConfig{Deliver: "last_per_subject", Filters: filters, Heartbeat: shortBeat})
	if err != nil {
		return false, err
	}
	defer f.end()
	silence := time.NewTimer(0)
	defer silence.Stop()
	for last := int64(0); last < upTo; {
		silence.Reset(3 * s.beat())
		select {
		case m := <-f.msgs:
			stored, ok, err := f.take(m)
			switch {
			case err != nil:
				return false, nil
			case ok:
				each(stored)
				last = stored.Seq
			case f.passed > 0:
				return f.passed >= upTo, nil
			}
		case <-silence.C:
			return false, nil
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
	return true, nil
}
