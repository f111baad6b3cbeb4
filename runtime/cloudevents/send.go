package cloudevents

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/busgen/busgen/runtime"
)

// StatusError is the answer of a webhook that has not taken an event.
type StatusError struct {
	URL    string // without a password and a query
	Status int
	// Detail is the beginning of the answer, or where a redirect leads to.
	Detail string
}

// Error names the webhook and the status.
func (e *StatusError) Error() string {
	text := fmt.Sprintf("webhook %s has answered %d %s", e.URL, e.Status, http.StatusText(e.Status))
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	return text
}

// permanent are the statuses that say something of the event or of the webhook that another
// attempt does not change.
var permanent = []int{400, 405, 406, 409, 410, 411, 413, 414, 415, 417, 422, 426, 431, 501}

// ofContent are those of them that can be about one event of a batch.
var ofContent = []int{400, 409, 413, 415, 422, 431}

// post sends one event.
func (f *forwarder) post(ctx context.Context, e Event) error {
	if f.to.Binary {
		return f.send(ctx, e.ID, e.Data, func(header http.Header) { setAttributes(header, &e) })
	}
	body, err := e.MarshalJSON()
	if err != nil {
		return runtime.Permanent(err)
	}
	return f.send(ctx, e.ID, body, contentType(structuredType))
}

// postBatch sends events in one request. Its id is that of these events in this order: another batch
// may have some of them, and must not look like this one.
func (f *forwarder) postBatch(ctx context.Context, events []item) error {
	texts := make([]json.RawMessage, len(events))
	sum := sha256.New()
	for i, e := range events {
		texts[i] = e.text
		io.WriteString(sum, e.source+"\n"+e.id+"\n")
	}
	body, err := json.Marshal(texts)
	if err != nil {
		return runtime.Permanent(err)
	}
	return f.send(ctx, hex.EncodeToString(sum.Sum(nil)[:16]), body, contentType(batchedType))
}

func contentType(media string) func(http.Header) {
	return func(header http.Header) { header.Set("Content-Type", media) }
}

// send makes a request as soon as it is permitted, and says what its answer means.
func (f *forwarder) send(ctx context.Context, id string, body []byte, set func(http.Header)) error {
	if err := f.ask(ctx); err != nil {
		return f.outcome(ctx, err)
	}
	_, err := f.request(ctx, http.MethodPost, body, func(header http.Header) {
		set(header)
		if f.to.Origin != "" {
			header.Set(headerOrigin, f.to.Origin)
		}
		if len(f.secrets) > 0 {
			sign(header, id, time.Now(), body, f.secrets)
		}
	})
	return f.outcome(ctx, err)
}

// refusedError is a [StatusError] with the headers of the answer.
type refusedError struct {
	*StatusError
	header http.Header
}

func (e *refusedError) Unwrap() error { return e.StatusError }

// request makes a request. A status that is not 2xx is a *refusedError.
func (f *forwarder) request(ctx context.Context, method string, body []byte, set func(http.Header)) (http.Header, error) {
	ctx, cancel := context.WithTimeout(ctx, f.to.Timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, f.to.URL, bytes.NewReader(body))
	if err != nil {
		return nil, runtime.Permanent(&WebhookError{URL: f.shown, Problem: "the request cannot be made"})
	}
	request.Header = f.to.Header.Clone()
	set(request.Header)
	response, err := f.client.Do(request)
	if err != nil {
		if all, ok := errors.AsType[*url.Error](err); ok {
			err = all.Err // all of it has the query of the URL
		}
		return nil, fmt.Errorf("webhook %s: %w", f.shown, err)
	}
	defer response.Body.Close()
	// The status is known: the sender does not wait long for the rest, which only lets the connection be
	// used again.
	hurry := time.AfterFunc(patience, cancel)
	defer hurry.Stop()
	var refused error
	if response.StatusCode/100 != 2 {
		refused = &refusedError{&StatusError{URL: f.shown, Status: response.StatusCode, Detail: detailOf(response)}, response.Header}
	}
	io.CopyN(io.Discard, response.Body, maxRest)
	return response.Header, refused
}

// How much of an answer is read, and for how long.
const (
	maxAnswer = 1000     // of one that is shown
	maxRest   = 64 << 10 // of the rest
	patience  = time.Second
)

func detailOf(response *http.Response) string {
	if response.StatusCode/100 == 3 {
		return "it leads to " + clip(response.Header.Get("Location")) + ", and redirects are not followed: change the URL"
	}
	begin, _ := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	return strings.ToValidUTF8(strings.TrimSpace(string(begin)), "")
}

// outcome says what becomes of an event after an error of its request.
func (f *forwarder) outcome(ctx context.Context, err error) error {
	refused, ok := errors.AsType[*refusedError](err)
	if !ok {
		return err
	}
	status := refused.StatusError
	if status.Status == http.StatusForbidden && f.to.Origin != "" {
		f.permit.forget()
	}
	switch {
	case status.Status == http.StatusGone:
		return runtime.Permanent(errors.Join(status, f.pause(ctx, status)))
	case slices.Contains(permanent, status.Status):
		return runtime.Permanent(status)
	case status.Status == http.StatusTooManyRequests, status.Status == http.StatusServiceUnavailable:
		if after, ok := retryAfter(refused.header.Get("Retry-After"), time.Now()); ok {
			return runtime.RetryAfter(after, status)
		}
	}
	return status
}

// pause stops the subscription: the receiver wants nothing more.
func (f *forwarder) pause(ctx context.Context, status *StatusError) error {
	name := f.name
	if s := f.sub.Load(); s != nil && s.Ephemeral() {
		return nil // there is nothing that could be paused
	} else if s != nil && s.Group() != "" {
		name = s.Group()
	}
	reason := fmt.Sprintf("webhook %s has answered %d %s: it wants nothing more", status.URL, status.Status, http.StatusText(status.Status))
	if err := f.bus.PauseSubscription(ctx, name, reason); err != nil {
		return fmt.Errorf("the subscription %s cannot be paused: %w", name, err)
	}
	return nil
}

// longestWait is what [runtime.RetryAfter] takes at most.
const longestWait = 30 * 24 * time.Hour

// retryAfter reads seconds, or a date. A receiver that names none, or one that is over, says nothing
// of when it can take the event: then the retry policy knows better than to ask at once.
func retryAfter(value string, now time.Time) (wait time.Duration, ok bool) {
	if seconds, err := strconv.ParseUint(value, 10, 64); err == nil || errors.Is(err, strconv.ErrRange) { // then it is the largest
		wait = time.Duration(min(seconds, uint64(longestWait/time.Second))) * time.Second
	} else if date, err := http.ParseTime(value); err == nil {
		wait = min(date.Sub(now), longestWait)
	}
	return wait, wait > 0
}
