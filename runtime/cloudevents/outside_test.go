package cloudevents_test

import (
	"context"
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/cloudevents"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/observe"
	"github.com/busgen/busgen/runtime/retry"
)

func TestASenderHasItsAnswerThoughTheFunctionOfOnRefusalPanics(t *testing.T) {
	f := conformance.SQLite.OpenOutside(t)
	defer f.Stop()
	var logged strings.Builder
	server := httptest.NewUnstartedServer(cloudevents.Receive(f.Bus, cloudevents.OnRefusal(func(*http.Request, *cloudevents.Refusal) { panic("at the metrics") })))
	server.Config.ErrorLog = log.New(&logged, "", 0)
	server.Start()
	answer, err := http.Post(server.URL, "application/cloudevents+json", strings.NewReader("{"))
	conformance.Must(t, err)
	body, err := io.ReadAll(answer.Body)
	conformance.Must(t, err)
	if answer.StatusCode != http.StatusBadRequest || !json.Valid(body) || len(body) < 10 {
		t.Errorf("the answer is %d, %q", answer.StatusCode, body)
	}
	server.Close()
	if !strings.Contains(logged.String(), "at the metrics") || !strings.Contains(logged.String(), "outside_test.go") {
		t.Errorf("the server has logged %q", logged.String())
	}
}

// A program may do anything to the transport that all of its requests share.
func TestPublicOnlyHoldsWhateverTheDefaultTransportIs(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	usual := http.DefaultTransport
	defer func() { http.DefaultTransport = usual }()
	var dialed atomic.Bool
	around := usual.(*http.Transport).Clone()
	around.DialTLSContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		dialed.Store(true)
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	for what, transport := range map[string]http.RoundTripper{"dials TLS itself": around, "is of another type": through{http.NotFoundHandler()}} {
		http.DefaultTransport = transport
		f := conformance.SQLite.OpenOutside(t)
		_, err := cloudevents.Forward(f.Bus, "*", "partner", cloudevents.Webhook{URL: server.URL, PublicOnly: true}, runtime.WithRetry(retry.MaxAttempts(1)))
		conformance.Must(t, err)
		f.MustStart()
		f.Publish(1)
		f.Idle()
		f.Stop()
		if text := conformance.SQLite.Letter(t, f.Path).LastAttempt().Error; !strings.Contains(text, "is not a public address") || dialed.Load() {
			t.Errorf("the transport %s: %s, dialed %v", what, text, dialed.Load())
		}
	}
}

func TestAReceiverSaysWhenTheNextAttemptIsButNotThatItIsAtOnce(t *testing.T) {
	short.Visit(t, "it tries many documents")
	for after, want := range map[string]time.Duration{
		"60": time.Minute, "0": 10 * time.Second, "-5": 10 * time.Second, "soon": 10 * time.Second, "": 10 * time.Second,
		"99999999999999999999999999":    30 * 24 * time.Hour,
		"Sat, 01 Jan 2000 00:02:00 GMT": 2 * time.Minute, "Fri, 31 Dec 1999 23:00:00 GMT": 10 * time.Second,
	} {
		synctest.Test(t, func(t *testing.T) {
			partner := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", after)
				w.WriteHeader(http.StatusServiceUnavailable)
			})
			var delays conformance.Journal[time.Duration]
			f := conformance.SQLite.OpenOutside(t, runtime.WithObserver(observe.Observer{Retrying: func(i observe.RetryingInfo) { delays.Add(i.Delay.Round(time.Second)) }}))
			defer f.Stop()
			_, err := cloudevents.Forward(f.Bus, "*", "partner", cloudevents.Webhook{URL: "https://partner.example", Client: &http.Client{Transport: through{partner}}},
				runtime.WithRetry(retry.MaxAttempts(2), retry.BaseDelay(10*time.Second), retry.Jitter(0)))
			conformance.Must(t, err)
			f.MustStart()
			f.Publish(1)
			time.Sleep(time.Second)
			if got := delays.All(); len(got) != 1 || got[0] != want {
				t.Errorf("after Retry-After %q the next attempt is after %v, want %v", after, got, want)
			}
		})
	}
}

// Several batches are sent at the same time, by the same forwarder.
func TestBatchesThatAreSentAtTheSameTimeShareNothing(t *testing.T) {
	var got atomic.Int64
	partner := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var all []json.RawMessage
		if err := json.NewDecoder(r.Body).Decode(&all); err == nil {
			got.Add(int64(len(all)))
		}
	})
	f := conformance.SQLite.OpenOutside(t)
	defer f.Stop()
	_, err := cloudevents.ForwardBatches(f.Bus, conformance.PlacedType, "partner", cloudevents.Webhook{URL: "https://partner.example", Client: &http.Client{Transport: through{partner}}},
		runtime.WithBatch(2, time.Millisecond), runtime.WithConcurrency(8))
	conformance.Must(t, err)
	for n := range 200 {
		f.Publish(n)
	}
	f.MustStart()
	f.Idle()
	if got.Load() != 200 {
		t.Errorf("the partner has got %d events, want 200", got.Load())
	}
}
