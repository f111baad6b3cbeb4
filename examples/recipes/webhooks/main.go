// Command webhooks posts the invoices that customers have paid to the servers of those customers.
package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	events "github.com/busgen/busgen/examples/recipes/generated"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/cloudevents"
)

// webhook is the server of a customer.
type webhook struct {
	url    string
	secret []byte // 24 to 64 random bytes; the customer has whsec_ and their base64
}

// sender posts each event to the customer that it is about.
type sender struct {
	client *http.Client
	lookup func(ctx context.Context, customer string) (webhook, bool, error)
}

func (s *sender) subscribe(bus *runtime.Bus) error {
	_, err := events.SubscribeInvoicePaid(bus, events.OnInvoicePaidPostWebhook, s.post)
	return err
}

func (s *sender) post(ctx context.Context, e runtime.Event[events.InvoicePaid]) error {
	to, found, err := s.lookup(ctx, e.Payload.CustomerID)
	if err != nil {
		return err
	}
	if !found {
		return runtime.Discard("the customer has no webhook")
	}
	data, err := json.Marshal(e.Payload)
	if err != nil {
		return runtime.Permanent(err)
	}
	body, err := cloudevents.Event{
		ID: e.ID.String(), Source: "https://shop.example", Type: e.Type, Time: e.PublishedAt.Format(time.RFC3339Nano), Data: data,
	}.MarshalJSON()
	if err != nil {
		return runtime.Permanent(err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to.url, bytes.NewReader(body))
	if err != nil {
		return runtime.Permanent(err)
	}
	request.Header.Set("Content-Type", "application/cloudevents+json")
	sign(request.Header, e.ID.String(), time.Now(), body, to.secret)
	answer, err := s.client.Do(request)
	if err != nil {
		return err // tried again: the server is away
	}
	defer answer.Body.Close()
	return outcome(answer)
}

// sign adds a signature of Standard Webhooks. It is made at each attempt, because receivers refuse an old time.
func sign(header http.Header, id string, now time.Time, body, secret []byte) {
	seconds := strconv.FormatInt(now.Unix(), 10)
	mac := hmac.New(sha256.New, secret)
	fmt.Fprintf(mac, "%s.%s.%s", id, seconds, body)
	header.Set("Webhook-Id", id)
	header.Set("Webhook-Timestamp", seconds)
	header.Set("Webhook-Signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
}

// outcome says what the bus does after an answer.
func outcome(answer *http.Response) error {
	err := fmt.Errorf("the customer's server has answered %s", answer.Status)
	seconds, _ := strconv.Atoi(answer.Header.Get("Retry-After"))
	switch status := answer.StatusCode; {
	case status/100 == 2:
		return nil
	case status == http.StatusTooManyRequests && seconds > 0:
		return runtime.RetryAfter(time.Duration(seconds)*time.Second, err)
	case status == http.StatusBadRequest, status == http.StatusGone, status == http.StatusUnprocessableEntity:
		return runtime.Permanent(err) // a dead letter: the same request would fail again
	default:
		return err
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, "webhooks.db", &sender{client: client, lookup: fromEnvironment}); err != nil {
		log.Fatal(err)
	}
}

// client follows no redirects: they could lead into the network of this program.
var client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

func run(ctx context.Context, db string, s *sender) error {
	bus, err := events.Open(ctx, db)
	if err != nil {
		return err
	}
	defer bus.Shutdown(context.WithoutCancel(ctx))
	if err := s.subscribe(bus); err != nil {
		return err
	}
	if err := bus.Start(ctx); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// fromEnvironment stands in for a table of customers.
func fromEnvironment(_ context.Context, customer string) (webhook, bool, error) {
	url, secret := os.Getenv("WEBHOOK_URL_"+customer), os.Getenv("WEBHOOK_SECRET_"+customer)
	key, err := base64.StdEncoding.DecodeString(secret)
	return webhook{url: url, secret: key}, url != "", err
}
