package cloudevents

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/busgen/busgen/runtime"
)

// ReceiveOption tunes [Receive].
type ReceiveOption func(*receiver)

// MaxBody sets how many bytes the body of a request has at most; 4 MiB by default. It must be
// positive.
func MaxBody(bytes int64) ReceiveOption { return func(h *receiver) { h.maxBody = bytes } }

// MaxBatch sets how many events a request has at most; 1000 by default. It must be positive. All
// events of a request are stored in one transaction.
func MaxBatch(events int) ReceiveOption { return func(h *receiver) { h.maxBatch = events } }

// MaxRequests sets how many requests are read and stored at the same time; 64 by default. It must
// be positive. Others are refused with status 503. So the memory for bodies is bounded, by this
// number and [MaxBody].
func MaxRequests(n int) ReceiveOption { return func(h *receiver) { h.maxRequests = n } }

// Within sets how long a request may take, until its body is read and again until its events are
// stored; 30 s by default. It must be positive.
func Within(d time.Duration) ReceiveOption { return func(h *receiver) { h.within = d } }

// Authorize calls f for each event of a request, before anything is stored. An error, or a panic,
// refuses the request, an error with status 403. f can compare the sender, which a middleware
// before the handler has put into the context of the request, with the source and the type of the
// event. It is called from many goroutines at once.
func Authorize(f func(r *http.Request, e Event) error) ReceiveOption {
	return func(h *receiver) { h.authorize = f }
}

// Signed refuses requests without a signature by one of the secrets: see [Webhook].Secrets. The
// signature is that of Standard Webhooks, not older or newer than five minutes. It covers the
// body, and in binary mode the attributes are not in the body, so that mode is refused. With
// several secrets one of them can be replaced while senders still use the other.
func Signed(secrets ...string) ReceiveOption {
	return func(h *receiver) {
		var err error
		if h.secrets, err = parseSecrets(secrets); err != nil {
			h.problem = fmt.Errorf("Signed: %w", err)
		} else if len(secrets) == 0 {
			h.problem = errors.New("Signed: there is no secret")
		}
	}
}

// OnRefusal calls f for each request that is refused, also with status 500 and 503, for logs and
// metrics. It is called from many goroutines at once, before the answer is written. If it panics,
// the answer is written all the same, and the panic is for the server, as that of any handler.
func OnRefusal(f func(r *http.Request, refusal *Refusal)) ReceiveOption {
	return func(h *receiver) { h.onRefusal = f }
}

// Receive returns a handler that stores CloudEvents as events of the bus. It takes POST requests
// in the modes binary, structured and batched of the HTTP binding, version 1.0.2.
//
// It answers 202 when all events of the request are stored, on disk. Otherwise none of them is,
// and the answer is a problem of RFC 9457 that says what is wrong with which event; see [Refusal].
// A sender can repeat a request as often as it likes: an event that was stored within the window
// of dedupe keys ([runtime.WithDedupeWindow], 24 hours by default) is not stored again. Source and id say
// which one it is; an event with these two and another type or payload is a conflict.
//
// The event type is that of the catalogue for the attribute type ([runtime.CloudEvents]), and the
// payload is checked as [runtime.Catalogue.Check] does. The attributes are metadata of the event:
// NAME as ce-NAME, but for correlationid, traceparent and tracestate, which mean the same to the
// bus. The time never decides about order or delay. The events are in the order of the request.
//
// The handler knows nothing of the sender, unless with [Signed] or [Authorize]; put it behind the
// authentication of your program. It is safe for concurrent use. After a shutdown of the bus it answers
// 503. Receive panics if bus is nil, or an option is not valid.
func Receive(bus *runtime.Bus, opts ...ReceiveOption) http.Handler {
	if bus == nil {
		panic("cloudevents.Receive: the bus is nil")
	}
	h := &receiver{bus: bus, maxBody: 4 << 20, maxBatch: 1000, maxRequests: 64, within: 30 * time.Second, rate: "*"}
	for i, opt := range opts {
		if opt == nil {
			panic(fmt.Sprintf("cloudevents.Receive: option %d is nil", i+1))
		}
		opt(h)
	}
	if h.maxBody <= 0 || h.maxBatch <= 0 || h.maxRequests <= 0 || h.within <= 0 {
		h.problem = errors.New("a limit is not positive")
	}
	if h.rate != "*" && !h.permits() && h.problem == nil {
		h.problem = errors.New("AllowRate belongs to AllowOrigins")
	}
	if h.problem != nil {
		panic(fmt.Sprintf("cloudevents.Receive: %v", h.problem))
	}
	h.places = make(chan struct{}, h.maxRequests)
	return h
}

type receiver struct {
	bus         *runtime.Bus
	maxBody     int64
	maxBatch    int
	maxRequests int
	within      time.Duration
	authorize   func(r *http.Request, e Event) error
	secrets     [][]byte
	onRefusal   func(r *http.Request, refusal *Refusal)
	origins     []string // that are allowed; nil for no handshakes
	rate        string   // that is allowed
	problem     error    // of an option

	places chan struct{} // of requests at work
}

// ServeHTTP implements [http.Handler].
func (h *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := h.take(w, r); err != nil {
		h.refuse(w, r, refusalOf(err))
	}
}

// refuse answers, also if the function of the program panics: that goes on to the server, which
// logs it and closes the connection.
func (h *receiver) refuse(w http.ResponseWriter, r *http.Request, refusal *Refusal) {
	told := false
	defer func() {
		refusal.write(w)
		if !told {
			http.NewResponseController(w).Flush()
		}
	}()
	if h.onRefusal != nil {
		h.onRefusal(r, refusal)
	}
	told = true
}

// take stores the events of a request.
func (h *receiver) take(w http.ResponseWriter, r *http.Request) error {
	// The deadline stays when a body is not read to its end: the server reads the rest of it before
	// it answers. Not all writers can set one; then the limits of the server hold.
	http.NewResponseController(w).SetReadDeadline(time.Now().Add(h.within))
	if r.Method == http.MethodOptions && h.permits() {
		return h.permit(w, r)
	}
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", h.methods())
		return &Refusal{Status: http.StatusMethodNotAllowed, Kind: KindMethod, Index: -1, Err: fmt.Errorf("the method is %.20q: send POST", r.Method)}
	}
	if err := h.originOf(r); err != nil {
		return err
	}
	select {
	case h.places <- struct{}{}:
		defer func() { <-h.places }()
	default:
		return &Refusal{Status: http.StatusServiceUnavailable, Kind: KindBusy, Index: -1, Err: errors.New("too many requests are at work: try again")}
	}
	events, err := h.read(w, r)
	if err != nil {
		return err
	}
	if h.authorize != nil {
		for i := range events {
			if err := h.allowed(r, events[i]); err != nil {
				return at(i, err)
			}
		}
	}
	ctx, cancel := context.WithTimeout(r.Context(), h.within)
	defer cancel()
	stored := make([]runtime.JSONEvent, len(events))
	for i := range events {
		if stored[i], err = incoming(h.bus.Catalogue(), &events[i]); err != nil {
			return at(i, err)
		}
	}
	if _, err = runtime.PublishJSON(ctx, h.bus, stored); err == nil {
		w.WriteHeader(http.StatusAccepted)
	}
	return err
}

// allowed calls the function of the program.
func (h *receiver) allowed(r *http.Request, e Event) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("the function of Authorize has panicked: %v", cause)
		}
	}()
	if err := h.authorize(r, e); err != nil {
		return &Refusal{Status: http.StatusForbidden, Kind: KindForbidden, Index: -1, Err: err}
	}
	return nil
}
