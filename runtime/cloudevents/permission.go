package cloudevents

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/busgen/busgen/runtime"
)

// The headers of the handshake of the webhook specification, section 4.
const (
	headerOrigin        = "Webhook-Request-Origin"
	headerRate          = "Webhook-Request-Rate"
	headerCallback      = "Webhook-Request-Callback"
	headerAllowedOrigin = "Webhook-Allowed-Origin"
	headerAllowedRate   = "Webhook-Allowed-Rate"
)

// PermissionError says that a webhook has not permitted what it was asked for with [Webhook].Origin. Nothing
// was sent to it.
type PermissionError struct {
	URL     string // without a password and a query
	Origin  string
	Problem string
}

// Error names the webhook and the origin.
func (e *PermissionError) Error() string {
	return fmt.Sprintf("webhook %s has not permitted events of %s: %s", e.URL, e.Origin, e.Problem)
}

// permit is what a receiver has permitted. The goroutine that has put something into busy uses the other fields.
type permit struct {
	busy  chan struct{} // with one place
	until time.Time
	every time.Duration // between two requests; 0 for no limit
	next  time.Time     // when the next request may be
}

// permitFor is how long a permission holds.
const permitFor = time.Hour

// ask waits until a request is permitted. It asks the receiver if it has not, or too long ago.
func (f *forwarder) ask(ctx context.Context) error {
	if f.to.Origin == "" {
		return nil
	}
	wait, soon, err := f.turn(ctx)
	if err != nil || wait <= 0 {
		return err
	}
	if soon {
		return sleep(ctx, wait)
	}
	// It takes its time, so that not all events that are pending are put off at once.
	begun := time.Now()
	end, _ := ctx.Deadline()
	if err := sleep(ctx, min(wait, end.Sub(begun)/2)); err != nil {
		return err
	}
	return runtime.Snooze(max(wait-time.Since(begun), time.Second))
}

// turn returns how long it is until the next request. If that is soon enough for this attempt, the turn is
// taken.
func (f *forwarder) turn(ctx context.Context) (wait time.Duration, soon bool, err error) {
	p := &f.permit
	select {
	case p.busy <- struct{}{}:
		defer func() { <-p.busy }()
	case <-ctx.Done():
		return 0, false, fmt.Errorf("webhook %s has not answered to OPTIONS: %w", f.shown, context.Cause(ctx))
	}
	if !time.Now().Before(p.until) {
		if err := f.handshake(ctx); err != nil {
			return 0, false, err
		}
	}
	now := time.Now()
	wait = max(p.next.Sub(now), 0)
	if end, ok := ctx.Deadline(); ok && wait > end.Sub(now)/2 {
		return wait, false, nil
	}
	p.next = now.Add(wait + p.every)
	return wait, true, nil
}

// forget makes the next request ask again.
func (p *permit) forget() {
	select {
	case p.busy <- struct{}{}:
		p.until = time.Time{}
		<-p.busy
	default: // a sender asks at this moment, or soon
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// handshake asks the receiver for its permission.
func (f *forwarder) handshake(ctx context.Context) error {
	header, err := f.request(ctx, http.MethodOptions, nil, func(header http.Header) {
		header.Set(headerOrigin, f.to.Origin)
		if f.to.Rate > 0 {
			header.Set(headerRate, strconv.Itoa(f.to.Rate))
		}
	})
	refuse := func(problem string) error {
		return &PermissionError{URL: f.shown, Origin: f.to.Origin, Problem: problem}
	}
	if refused, ok := errors.AsType[*refusedError](err); ok && !slices.Contains([]int{410, 429, 503}, refused.Status) {
		return refuse(fmt.Sprintf("it has answered %d %s to OPTIONS", refused.Status, http.StatusText(refused.Status)))
	} else if err != nil {
		return err
	}
	allowed := header.Values(headerAllowedOrigin)
	switch {
	case len(allowed) == 0:
		return refuse("its answer to OPTIONS has no header WebHook-Allowed-Origin")
	case len(allowed) > 1 || allowed[0] != "*" && !strings.EqualFold(allowed[0], f.to.Origin):
		return refuse("it permits " + clip(strings.Join(allowed, ", ")))
	}
	rate := header.Get(headerAllowedRate)
	perMinute, err := strconv.ParseInt(rate, 10, 64)
	switch {
	case rate == "*" || rate == "" && f.to.Rate == 0:
		perMinute = 0
	case rate == "":
		perMinute = int64(f.to.Rate)
	case err != nil || perMinute <= 0:
		return refuse("its header WebHook-Allowed-Rate is neither * nor a number of requests per minute")
	}
	if f.to.Rate > 0 && (perMinute == 0 || int64(f.to.Rate) < perMinute) {
		perMinute = int64(f.to.Rate) // as it was asked for
	}
	f.permit.until, f.permit.every = time.Now().Add(permitFor), 0
	if perMinute > 0 {
		f.permit.every = time.Minute / time.Duration(perMinute)
	}
	return nil
}

// isOrigin tells whether a text is a DNS name, as the handshake wants it.
func isOrigin(text string) bool {
	return len(text) <= 253 && text != "" && !strings.ContainsFunc(text, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '.' && c != '_'
	})
}
