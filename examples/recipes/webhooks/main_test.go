package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	events "github.com/busgen/busgen/examples/recipes/generated"
	"github.com/busgen/busgen/examples/recipes/generated/eventstest"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/cloudevents"
	"github.com/busgen/busgen/runtime/runtimetest"
)

var secret = []byte("a secret of thirty-two characters")

// inProcess answers the requests of a client without a network.
type inProcess struct{ http.Handler }

func (p inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := httptest.NewRecorder()
	p.ServeHTTP(answer, r)
	return answer.Result(), nil
}

// to returns a sender whose customers have the servers CUSTOMER.example.
func to(servers http.HandlerFunc) *sender {
	return &sender{client: &http.Client{Transport: inProcess{servers}}, lookup: func(_ context.Context, customer string) (webhook, bool, error) {
		return webhook{url: "https://" + customer + ".example/events", secret: secret}, customer != "nobody", nil
	}}
}

func TestACustomerWhoseServerIsDownDoesNotHoldUpTheOthers(t *testing.T) {
	eventstest.Run(t, func(t *testing.T, kit *runtimetest.Kit) {
		var asked, served atomic.Int64
		kit.Setup(to(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Host == "down.example" {
				asked.Add(1)
				w.WriteHeader(http.StatusBadGateway)
				return
			}
			served.Add(1)
		}).subscribe)
		for number := range int64(50) {
			kit.Publish(events.InvoicePaid{CustomerID: "down", Number: number + 1, Cents: 100})
			kit.Publish(events.InvoicePaid{CustomerID: "well", Number: number + 1, Cents: 100})
		}
		kit.Deliver()
		if served.Load() != 50 || asked.Load() > 6 {
			t.Errorf("%d invoices of the customer who is well were taken; the server that is down was asked %d times", served.Load(), asked.Load())
		}
	})
}

func TestACustomerWhoseServerIsSlowTakesTwoPlaces(t *testing.T) {
	eventstest.Run(t, func(t *testing.T, kit *runtimetest.Kit) {
		var slow, most, served atomic.Int64
		kit.Setup(to(func(_ http.ResponseWriter, r *http.Request) {
			if r.URL.Host != "slow.example" {
				served.Add(1)
				return
			}
			most.Store(max(most.Load(), slow.Add(1)))
			time.Sleep(5 * time.Second)
			slow.Add(-1)
		}).subscribe)
		for number := range int64(50) {
			kit.Publish(events.InvoicePaid{CustomerID: "slow", Number: number + 1, Cents: 100})
		}
		kit.Publish(events.InvoicePaid{CustomerID: "well", Number: 1, Cents: 100})
		kit.Advance(time.Second)
		if most.Load() != 2 || served.Load() != 1 {
			t.Errorf("%d requests at once to the slow server, %d to the other", most.Load(), served.Load())
		}
		kit.Drain()
	})
}

func TestWhatARefusalMeans(t *testing.T) {
	for _, one := range []struct {
		customer       string
		status         int
		attempts, dead int
	}{
		{"ada", http.StatusNoContent, 1, 0},
		{"nobody", http.StatusNoContent, 1, 0},
		{"ada", http.StatusUnprocessableEntity, 1, 1},
		{"ada", http.StatusGone, 1, 1},
		{"ada", http.StatusInternalServerError, 12, 1},
	} {
		t.Run(fmt.Sprint(one.customer, one.status), func(t *testing.T) {
			eventstest.Run(t, func(t *testing.T, kit *runtimetest.Kit) {
				kit.Setup(to(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(one.status) }).subscribe)
				kit.Publish(events.InvoicePaid{CustomerID: one.customer, Number: 1, Cents: 100})
				kit.Drain()
				attempts, dead := len(kit.Attempts(events.OnInvoicePaidPostWebhook.String())), len(kit.AllDeadLetters())
				if attempts != one.attempts || dead != one.dead {
					t.Errorf("%d attempts, %d dead letters; want %d, %d", attempts, dead, one.attempts, one.dead)
				}
			})
		})
	}
}

// The whole program posts over a real connection to a customer who uses busgen, too, and checks the signature.
func TestTheReceiverFindsTheSignatureRight(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	defer end()
	customer, err := events.Open(ctx, filepath.Join(t.TempDir(), "customer.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer customer.Shutdown(context.WithoutCancel(ctx))
	arrived := make(chan int64, 10)
	_, err = runtime.Subscribe(customer, events.InvoicePaidType, "arrived", func(_ context.Context, e runtime.Event[events.InvoicePaid]) error {
		arrived <- e.Payload.Number
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := customer.Start(ctx); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(cloudevents.Receive(customer, cloudevents.Signed("whsec_"+base64.StdEncoding.EncodeToString(secret))))
	defer server.Close()

	db, ended := filepath.Join(t.TempDir(), "webhooks.db"), make(chan error, 1)
	publisher, err := events.Open(ctx, db)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := events.PublishInvoicePaid(ctx, publisher, events.InvoicePaid{CustomerID: "ada", Number: 7, Cents: 100}); err != nil {
		t.Fatal(err)
	}
	if err := publisher.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	t.Setenv("WEBHOOK_URL_ada", server.URL)
	t.Setenv("WEBHOOK_SECRET_ada", base64.StdEncoding.EncodeToString(secret))
	go func() { ended <- run(ctx, db, &sender{client: client, lookup: fromEnvironment}) }()
	if got := <-arrived; got != 7 {
		t.Errorf("invoice %d arrived", got)
	}
	end()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
