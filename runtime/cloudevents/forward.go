package cloudevents

import (
	"bytes"
	"cmp"
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
	"github.com/busgen/busgen/runtime/internal/dispatch"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// Webhook is where [Forward] sends events to.
type Webhook struct {
	// URL is where each event is posted to: absolute, of the scheme https or http. What it has
	// as user and password is sent as basic authentication.
	URL string
	// Secrets sign each request as Standard Webhooks do (https://www.standardwebhooks.com), with
	// HMAC-SHA256 over id, time and body: each secret is whsec_ and 24 to 64 random bytes in
	// base64. A request has a signature by each of them, so a secret can be replaced: add the
	// new one, let the receiver change, remove the old one. Without secrets nothing is signed.
	Secrets []string
	// Binary sends the attributes as headers and the payload as the body. Otherwise both are in
	// the body, in structured mode. It does not go with Secrets, because they sign the body only.
	Binary bool
	// PublicOnly refuses to connect to addresses that are not public: those of this
	// machine, of private networks, of link-local services and others. The address is checked when
	// the connection is made, so no name can lead around it. Set it for URLs that come from
	// outside of the program. It does not go with Client, and uses neither a proxy nor anything that
	// the program has made of [http.DefaultTransport].
	PublicOnly bool
	// Header is sent with each request, for example Authorization.
	Header http.Header
	// Client makes the requests, [http.DefaultTransport] by default. Redirects are not followed
	// whatever it says, and its cookies are not used.
	Client *http.Client
	// Timeout limits one request, 30 s by default. The timeout of the attempt holds, too.
	Timeout time.Duration
}

// Forward subscribes to the events whose types match pattern, and posts each to a webhook as a
// CloudEvent. It is a subscription as [runtime.SubscribePattern] makes them: durable, in the order
// of the log, with the retries of the catalogue, dead letters, and all options. An event is sent at
// least once; a receiver knows those that come twice by source and id.
//
// What is sent is the stored payload as it is, with the values of sensitive fields. Metadata under
// ce-NAME is sent as the extension NAME, and no other metadata. An event that [Receive] has stored
// is sent with the attributes that it came with, so it stays the same event.
//
// Status 2xx means handled. Otherwise the attempt has failed with a *[StatusError]:
//
//   - 429 and 503 with a Retry-After that is not over: the next attempt is then, as with [runtime.RetryAfter]
//   - 400, 405, 406, 409, 410, 411, 413, 414, 415, 417, 422, 426, 431 and 501: another attempt is in
//     vain, so the event becomes a dead letter, as with [runtime.Permanent]
//   - all others, among them redirects, 401, 403 and 404: the next attempt is by the retry policy
//
// The catalogue needs a source ([runtime.CloudEvents]). The errors are a *[WebhookError], and those of
// [runtime.SubscribePattern].
func Forward(bus *runtime.Bus, pattern, name string, to Webhook, opts ...runtime.SubscribeOption) (*runtime.Subscription, error) {
	f, err := newForwarder(bus, to)
	if err != nil {
		return nil, err
	}
	return runtime.SubscribePattern(bus, pattern, name, func(ctx context.Context, e runtime.Event[runtime.Raw]) error {
		event, err := f.event(ctx)
		if err != nil {
			return err
		}
		return f.post(ctx, event)
	}, opts...)
}

// ForwardBatches is [Forward] for the events of one type, with several of them in a request: the
// batched mode, which the receiver must have agreed to. [runtime.WithBatch] says how many, 100 and
// 100 ms by default. A request that fails has failed for all of its events. It is a subscription as
// [runtime.SubscribeBatch] makes them. The Webhook cannot be Binary.
func ForwardBatches[T runtime.Payload](bus *runtime.Bus, t *runtime.EventType[T], name string, to Webhook, opts ...runtime.SubscribeOption) (*runtime.Subscription, error) {
	f, err := newForwarder(bus, to)
	if err != nil {
		return nil, err
	}
	if to.Binary {
		return nil, &WebhookError{URL: f.shown, Problem: "Binary is one event in a request: use Forward, or leave it out"}
	}
	return runtime.SubscribeBatch(bus, t, name, func(ctx context.Context, all []runtime.Event[T]) error {
		events := make([]Event, len(all))
		for i := range all {
			event, err := f.event(runtime.ItemContext(ctx, i))
			if err != nil {
				return err
			}
			events[i] = event
		}
		return f.postAll(ctx, events)
	}, opts...)
}

// WebhookError says what is wrong with a [Webhook], or that the catalogue has no source.
type WebhookError struct {
	URL     string // without a password and a query
	Problem string
}

// Error names the webhook.
func (e *WebhookError) Error() string { return fmt.Sprintf("webhook %s: %s", e.URL, e.Problem) }

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

type forwarder struct {
	names   runtime.CloudEvents
	keys    map[string]string // the fields with the partition keys, by event type
	to      Webhook
	shown   string
	secrets [][]byte
	client  http.Client
}

func newForwarder(bus *runtime.Bus, to Webhook) (*forwarder, error) {
	if bus == nil {
		return nil, errors.New("forward: the bus is nil")
	}
	f := &forwarder{names: bus.Catalogue().CloudEvents(), keys: map[string]string{}, to: to, shown: "-"}
	f.to.Header = to.Header.Clone()
	refuse := func(problem string) (*forwarder, error) { return nil, &WebhookError{URL: f.shown, Problem: problem} }
	uri, err := url.Parse(to.URL)
	if err != nil {
		return refuse("the URL cannot be read") // the error has the password
	}
	bare := *uri
	bare.RawQuery, bare.Fragment = "", "" // which may have a token
	f.shown = bare.Redacted()
	if f.secrets, err = parseSecrets(to.Secrets); err != nil {
		return refuse(err.Error())
	}
	switch {
	case uri.Scheme != "https" && uri.Scheme != "http" || uri.Host == "":
		return refuse("the URL is not absolute, of the scheme https or http")
	case f.names.Source == "":
		return refuse("the catalogue has no source: call WithCloudEvents")
	case to.Binary && len(f.secrets) > 0:
		return refuse("Secrets sign the body, which has no attributes in binary mode: leave out Binary")
	case to.PublicOnly && to.Client != nil:
		return refuse("PublicOnly has a client of its own: leave out Client")
	case to.Timeout < 0:
		return refuse("the Timeout is negative")
	}
	if to.Client != nil {
		f.client = *to.Client
	}
	if to.PublicOnly {
		f.client.Transport = publicTransport()
	}
	f.client.Jar = nil
	f.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	f.to.Timeout = cmp.Or(to.Timeout, 30*time.Second)
	for _, t := range bus.Catalogue().Types() {
		f.keys[t.Name()] = keyField(t.Schema())
	}
	return f, nil
}

// event returns the event that a handler with ctx handles.
func (f *forwarder) event(ctx context.Context) (Event, error) {
	a := dispatch.FromContext(ctx)
	if a == nil {
		return Event{}, errors.New("forward: a middleware has replaced the context of the attempt: derive it from the given one")
	}
	return f.outgoing(a.Record), nil
}

func (f *forwarder) outgoing(r *engine.Record) Event {
	s := stored{id: r.ID, seq: r.Seq, eventType: r.Type, version: r.Version, publishedAt: r.CreatedAt, payload: slices.Clone(r.Payload)}
	json.Unmarshal(r.Metadata, &s.metadata) // written by the bus
	lineage := engine.LineageIn(s.metadata)
	s.correlationID, s.parentID = lineage.CorrelationID, lineage.ParentID
	s.partitionKey = keyIn(f.keys[r.Type], r.Payload)
	return outgoing(f.names, s)
}

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

// postAll sends a batch. Its id is that of these events in this order: another batch may have some
// of them, and must not look like this one.
func (f *forwarder) postAll(ctx context.Context, events []Event) error {
	body, err := json.Marshal(events)
	if err != nil {
		return runtime.Permanent(err)
	}
	sum := sha256.New()
	for i := range events {
		io.WriteString(sum, events[i].Source+"\n"+events[i].ID+"\n")
	}
	return f.send(ctx, hex.EncodeToString(sum.Sum(nil)[:16]), body, contentType(batchedType))
}

func contentType(media string) func(http.Header) {
	return func(header http.Header) { header.Set("Content-Type", media) }
}

// send makes a request, and says what its answer means.
func (f *forwarder) send(ctx context.Context, id string, body []byte, set func(http.Header)) error {
	ctx, cancel := context.WithTimeout(ctx, f.to.Timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, f.to.URL, bytes.NewReader(body))
	if err != nil {
		return runtime.Permanent(&WebhookError{URL: f.shown, Problem: "the request cannot be made"})
	}
	if f.to.Header != nil {
		request.Header = f.to.Header.Clone()
	}
	set(request.Header)
	if len(f.secrets) > 0 {
		sign(request.Header, id, time.Now(), body, f.secrets)
	}
	response, err := f.client.Do(request)
	if err != nil {
		if all, ok := errors.AsType[*url.Error](err); ok {
			err = all.Err // all of it has the query of the URL
		}
		return fmt.Errorf("webhook %s: %w", f.shown, err)
	}
	defer response.Body.Close()
	if response.StatusCode/100 == 2 {
		return nil
	}
	failed := &StatusError{URL: f.shown, Status: response.StatusCode, Detail: detailOf(response)}
	switch {
	case slices.Contains(permanent, response.StatusCode):
		return runtime.Permanent(failed)
	case response.StatusCode == http.StatusTooManyRequests, response.StatusCode == http.StatusServiceUnavailable:
		if after, ok := retryAfter(response.Header.Get("Retry-After"), time.Now()); ok {
			return runtime.RetryAfter(after, failed)
		}
	}
	return failed
}

// maxAnswer is how much of an answer is read.
const maxAnswer = 1000

func detailOf(response *http.Response) string {
	if response.StatusCode/100 == 3 {
		return "it leads to " + clip(response.Header.Get("Location")) + ", and redirects are not followed: change the URL"
	}
	begin, _ := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	return strings.ToValidUTF8(strings.TrimSpace(string(begin)), "")
}

// longestWait is what [runtime.RetryAfter] takes at most.
const longestWait = 30 * 24 * time.Hour

// retryAfter reads seconds, or a date. A receiver that names none, or one that is over, says nothing
// of when it can take the event: then the retry policy knows better than to ask at once.
func retryAfter(value string, now time.Time) (wait time.Duration, ok bool) {
	if seconds, err := strconv.ParseUint(value, 10, 64); err == nil {
		wait = time.Duration(min(seconds, uint64(longestWait/time.Second))) * time.Second
	} else if date, err := http.ParseTime(value); err == nil {
		wait = min(date.Sub(now), longestWait)
	}
	return wait, wait > 0
}
