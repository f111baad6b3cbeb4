package buslog

import (
	"strings"

	"github.com/busgen/busgen/runtime/internal/engine"
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
	for _, shorten := range []func(*engine.FailedAttempt){
		func(a *engine.FailedAttempt) { a.Log = "" },
		func(a *engine.FailedAttempt) { a.Stack = "" },
		func(a *engine.FailedAttempt) { a.Error = cutText(a.Error, 1000) },
		func(a *engine.FailedAttempt) { a.Error, a.ErrorType = cutText(a.Error, 50), "" },
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
	// The event is in the stream as long as somebody needs it.
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
