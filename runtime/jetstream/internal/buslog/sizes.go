package buslog

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// A message has a greatest size. A row has a copy of its event, in JSON, which makes three
// bytes four, and what is said of its attempts. So events are smaller, and what is said of
// attempts is cut.

// headers is what the headers of a message and the fields of a row need at most.
const headers = 8 << 10

// mostMetadata is how large metadata may be, which are a header of the event.
const mostMetadata = 48 << 10

// sizes returns how many bytes the payload of an event and its metadata have at most.
func (c *conn) sizes() (payload, metadata int) {
	most := int(c.stream.MaxMessage())
	attempts := min(most/8, 128<<10)
	metadata = min(most/16, mostMetadata)
	return (most-headers-attempts)/4*3 - metadata, metadata
}

// rowData returns the JSON of a row that fits into a message.
func (c *conn) rowData(r *row) []byte {
	data := r.encode()
	limit := int(c.stream.MaxMessage()) - headers
	if len(data) <= limit {
		return data
	}
	r = r.clone()
	for _, shorten := range []func(*event.FailedAttempt){
		func(a *event.FailedAttempt) { a.Log = "" },
		func(a *event.FailedAttempt) { a.Stack = "" },
		func(a *event.FailedAttempt) { a.Error = cutText(a.Error, 1000) },
		func(a *event.FailedAttempt) { a.Error, a.ErrorType = cutText(a.Error, 50), "" },
	} {
		for i := range r.Attempts { // the oldest first
			shorten(&r.Attempts[i])
			if data = r.encode(); len(data) <= limit {
				return data
			}
		}
	}
	for i := range r.Crashes {
		r.Crashes[i].Beside = nil
	}
	// The event is in the stream as long as it is needed.
	r.Bare, r.Payload, r.Metadata = true, nil, nil
	for data = r.encode(); len(data) > limit && len(r.Attempts)+len(r.Crashes) > 2; data = r.encode() {
		dropped := (len(r.Attempts) + 1) / 2
		r.Attempts, r.History = r.Attempts[dropped:], max(r.History-dropped, 0)
		r.Crashes = r.Crashes[(len(r.Crashes)+1)/2:]
	}
	return data
}

// cutText returns the beginning of a text.
func cutText(text string, bytes int) string {
	if len(text) <= bytes {
		return text
	}
	return strings.ToValidUTF8(text[:bytes], "") + " (cut)"
}

// A stream whose size is limited refuses what does not fit. If it were full of events no
// process could settle them, nor prune, because that stores something first. So publishing
// ends before it is full.

// space is how full the stream is. It is guarded by the log's mu.
type space struct {
	limit   int64     // of the stream; 0 for none
	used    int64     // when the servers were asked
	arrived int64     // since then, as far as this process knows
	asked   time.Time // when
}

// reserve is what events leave free.
func reserve(limit int64) int64 { return min(limit/8, 64<<20) }

// spaceAgain is how often the servers are asked at most, when there seems to be no room.
const spaceAgain = 100 * time.Millisecond

// sizeOf is about what a message takes.
func sizeOf(m stream.Stored) (n int64) {
	for name, values := range m.Header {
		n += int64(len(name) + 4)
		for _, v := range values {
			n += int64(len(v))
		}
	}
	return n + int64(len(m.Subject)+len(m.Data)+32)
}

// hasRoom returns an error if events would leave too little for verdicts.
func (v *logView) hasRoom(ctx context.Context, msgs []*stream.Msg) error {
	if !v.limited.Load() {
		return nil
	}
	size := int64(0)
	for _, m := range msgs {
		size += sizeOf(stream.Stored{Subject: m.Subject, Data: m.Data})
		for _, h := range m.Header {
			size += int64(len(h.Name) + 4 + len(h.Value))
		}
	}
	for asked := false; ; asked = true {
		v.mu.Lock()
		s := v.space
		v.mu.Unlock()
		switch {
		case s.limit <= 0 || s.used+s.arrived+size <= s.limit-reserve(s.limit):
			return nil
		case asked || time.Since(s.asked) < spaceAgain && s.arrived == 0:
			return &event.StorageError{
				Fault: event.DiskFull, Op: "append", Path: v.target, Err: errors.New("the stream is nearly full; the rest is for settling what is in it"),
				Hint: "keep settled events for a shorter time (runtime.WithRetention), or raise the limit (nats stream edit " + v.stream.Name() + " --max-bytes)",
			}
		}
		if err := v.lookForSpace(ctx); err != nil {
			return err
		}
	}
}

// lookForSpace asks the servers how full the stream is.
func (v *logView) lookForSpace(ctx context.Context) error {
	used, limit, err := v.stream.Space(ctx)
	if err != nil {
		return err
	}
	v.mu.Lock()
	v.space = space{limit: limit, used: used, asked: time.Now()}
	v.limited.Store(limit > 0)
	v.mu.Unlock()
	return nil
}
