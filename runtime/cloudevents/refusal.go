package cloudevents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
)

// Kind says in one word why a request is refused. It ends the type of the problem, which is
// https://github.com/busgen/busgen/blob/main/docs/cloudevents.md#KIND.
type Kind string

// The kinds, with their statuses.
const (
	KindAttribute   Kind = "attribute"    // 400: an attribute is missing or wrong, or this is no CloudEvent
	KindData        Kind = "data"         // 400: the body or the data cannot be read as JSON
	KindSignature   Kind = "signature"    // 401: the signature is missing or wrong, or too old
	KindForbidden   Kind = "forbidden"    // 403: the function of Authorize has refused it
	KindMethod      Kind = "method"       // 405: it is no POST
	KindSlow        Kind = "slow"         // 408: the body did not come in time
	KindConflict    Kind = "conflict"     // 409: an event with this source and id, and another type or payload, is stored
	KindTooLarge    Kind = "too-large"    // 413: the body, the batch, a payload or the metadata is too large
	KindMediaType   Kind = "media-type"   // 415: a format of CloudEvents, or of data, other than JSON
	KindEncoding    Kind = "encoding"     // 415: the body is compressed
	KindUnknownType Kind = "unknown-type" // 422: the catalogue has no event type for the attribute type
	KindPayload     Kind = "payload"      // 422: the data does not fit the catalogue
	KindHeader      Kind = "header"       // 422: a header that the catalogue requires is missing, or has a value of another type
	KindRefused     Kind = "refused"      // 422: a publish middleware has refused it
	KindInternal    Kind = "internal"     // 500: code of this program has failed
	KindBusy        Kind = "busy"         // 503: too many requests are at work, or too much is pending
	KindUnavailable Kind = "unavailable"  // 503: the bus cannot store events at the moment
)

// Refusal says why a request was refused. Nothing of it was stored; of status 503 it may turn out
// to be stored after all if its cause is a *[event.StorageError] that is InDoubt, and then a
// repeated request is a duplicate.
type Refusal struct {
	Status int
	Kind   Kind
	Index  int // of the event in a batch; -1 if it is about the request as a whole
	// Err is the cause: an *[AttributeError], a *[DataError], an *[UnknownTypeError], what
	// [runtime.PublishJSON] has returned, or a text.
	Err error
}

// Error names the kind and the cause.
func (e *Refusal) Error() string {
	if e.Index < 0 {
		return fmt.Sprintf("%s: %v", e.Kind, e.Err)
	}
	return fmt.Sprintf("%s: event %d: %v", e.Kind, e.Index, e.Err)
}

// Unwrap returns the cause.
func (e *Refusal) Unwrap() error { return e.Err }

// UnknownTypeError says that the catalogue has no event type for the attribute type of an event.
type UnknownTypeError struct {
	Type   string // the attribute
	Prefix string // that the catalogue gives its types; empty for none
}

// Error says what to look for.
func (e *UnknownTypeError) Error() string {
	if e.Prefix != "" && !strings.HasPrefix(e.Type, e.Prefix) {
		return fmt.Sprintf("the type %.200q is not known here: most begin with %s", e.Type, e.Prefix)
	}
	return fmt.Sprintf("the type %.200q is not known here", e.Type)
}

// at makes a refusal of an error about one event.
func at(i int, err error) *Refusal {
	refusal := refusalOf(err)
	refusal.Index = i
	return refusal
}

// refusalOf classifies an error.
func refusalOf(err error) *Refusal {
	if refusal, ok := errors.AsType[*Refusal](err); ok {
		return refusal
	}
	r := &Refusal{Status: http.StatusInternalServerError, Kind: KindInternal, Index: -1, Err: err}
	if item, ok := errors.AsType[*runtime.ItemError](err); ok {
		r.Index, r.Err = item.Index, item.Err
	}
	is := func(status int, kind Kind) *Refusal {
		r.Status, r.Kind = status, kind
		return r
	}
	data, isData := errors.AsType[*DataError](err)
	switch {
	case errors.As(err, new(*runtime.PanicError)):
		return r
	case errors.As(err, new(*AttributeError)):
		return is(http.StatusBadRequest, KindAttribute)
	case isData && data.Unsupported:
		return is(http.StatusUnsupportedMediaType, KindMediaType)
	case isData:
		return is(http.StatusBadRequest, KindData)
	case errors.As(err, new(*UnknownTypeError)):
		return is(http.StatusUnprocessableEntity, KindUnknownType)
	case errors.As(err, new(*runtime.InvalidPayloadError)):
		return is(http.StatusUnprocessableEntity, KindPayload)
	case errors.As(err, new(*runtime.HeaderError)):
		return is(http.StatusUnprocessableEntity, KindHeader)
	case errors.As(err, new(*runtime.PayloadTooLargeError)):
		return is(http.StatusRequestEntityTooLarge, KindTooLarge)
	case errors.As(err, new(*event.ConflictError)):
		return is(http.StatusConflict, KindConflict)
	case errors.As(err, new(*runtime.RefusedError)):
		return is(http.StatusUnprocessableEntity, KindRefused)
	case errors.As(err, new(*runtime.PendingError)):
		return is(http.StatusServiceUnavailable, KindBusy)
	case errors.As(err, new(*event.StorageError)), errors.Is(err, runtime.ErrShutdown),
		errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return is(http.StatusServiceUnavailable, KindUnavailable)
	}
	return r
}

// What a problem says at most: it is made of what a stranger has sent.
const (
	maxDetail = 1000
	maxErrors = 20
)

// problem is the body of an answer, as RFC 9457 has it.
type problem struct {
	Type      string         `json:"type"`
	Title     string         `json:"title"`
	Status    int            `json:"status"`
	Detail    string         `json:"detail"`
	Index     *int           `json:"index,omitempty"`     // of the event in the request
	Attribute string         `json:"attribute,omitempty"` // that is wrong
	Errors    []payloadError `json:"errors,omitempty"`    // of the payload
}

type payloadError struct {
	Path   string `json:"path"` // lines[2].price; empty for the payload as a whole
	Detail string `json:"detail"`
}

const problemTypes = "https://github.com/busgen/busgen/blob/main/docs/cloudevents.md#"

// write answers the request. The sender is not told of faults within this program.
func (e *Refusal) write(w http.ResponseWriter) {
	p := problem{Type: problemTypes + string(e.Kind), Title: http.StatusText(e.Status), Status: e.Status, Detail: clip(e.Err.Error())}
	if e.Index >= 0 {
		p.Index = &e.Index
	}
	if attribute, ok := errors.AsType[*AttributeError](e.Err); ok {
		p.Attribute = clip(attribute.Attribute)
	}
	if invalid, ok := errors.AsType[*runtime.ValidationError](e.Err); ok {
		for _, one := range invalid.Problems[:min(len(invalid.Problems), maxErrors)] {
			p.Errors = append(p.Errors, payloadError{clip(one.Path), clip(one.Message)})
		}
	}
	header := w.Header()
	switch e.Kind {
	case KindInternal:
		p.Detail = "this program has failed; its operator knows more"
	case KindBusy, KindUnavailable:
		p.Detail = "events cannot be stored at the moment: try again"
		header.Set("Retry-After", "2")
	case KindEncoding:
		header.Set("Accept-Encoding", "identity")
	}
	body, err := json.Marshal(p)
	if err != nil {
		body = []byte("{}")
	}
	header.Set("Content-Type", "application/problem+json")
	header.Set("Content-Length", strconv.Itoa(len(body)))
	header.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(e.Status)
	w.Write(body)
}

// clip cuts a text that is too long.
func clip(text string) string {
	if len(text) <= maxDetail {
		return text
	}
	text = text[:maxDetail]
	for len(text) > 0 && !utf8.ValidString(text[len(text)-1:]) && !utf8.RuneStart(text[len(text)-1]) {
		text = text[:len(text)-1]
	}
	return strings.ToValidUTF8(text, "") + "…"
}
