package sdktest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	sdk "github.com/cloudevents/sdk-go/v2"
	"github.com/cloudevents/sdk-go/v2/protocol"
	sdkhttp "github.com/cloudevents/sdk-go/v2/protocol/http"

	"github.com/busgen/busgen/runtime/cloudevents"
)

// paid returns an event of the SDK, with attributes that are hard to transport.
func paid(t *testing.T, id string) sdk.Event {
	t.Helper()
	e := sdk.NewEvent()
	e.SetID(id)
	e.SetSource("https://bank.example/a")
	e.SetType("com.example.order.paid")
	e.SetSubject("Euro € 😀 100% \"quoted\" \\ back")
	e.SetTime(time.Date(2026, 3, 14, 12, 30, 0, 123456789, time.FixedZone("", 3600)))
	e.SetExtension("number", 5)
	e.SetExtension("truth", true)
	e.SetExtension("correlationid", "c 1")
	must(t, e.SetData(sdk.ApplicationJSON, OrderPaid{OrderID: id}))
	return e
}

func TestTheSDKAsTheClientInAllModes(t *testing.T) {
	for mode, send := range map[string]func(t *testing.T, to string, events ...sdk.Event) int{
		"binary":     single(sdk.WithEncodingBinary),
		"structured": single(sdk.WithEncodingStructured),
		"batched": func(t *testing.T, to string, events ...sdk.Event) int {
			request, err := sdkhttp.NewHTTPRequestFromEvents(t.Context(), to, events)
			must(t, err)
			answer, err := http.DefaultClient.Do(request)
			must(t, err)
			defer answer.Body.Close()
			return answer.StatusCode
		},
	} {
		t.Run(mode, func(t *testing.T) {
			bus, path := open(t)
			to := serve(t, cloudevents.Receive(bus))
			for range 2 {
				if status := send(t, to, paid(t, "1"), paid(t, "2")); status != http.StatusAccepted {
					t.Errorf("the status is %d", status)
				}
			}
			all := stored(t, path)
			if len(all) != 2 {
				t.Fatalf("%d events are stored", len(all))
			}
			for i, e := range all {
				var metadata map[string]string
				must(t, json.Unmarshal(e.Metadata, &metadata))
				want := map[string]string{
					"ce-id": fmt.Sprint(i + 1), "ce-source": "https://bank.example/a", "ce-type": "com.example.order.paid", "ce-subject": "Euro € 😀 100% \"quoted\" \\ back",
					"ce-time": "2026-03-14T11:30:00.123456789Z", "ce-number": "5", "ce-truth": "true", "correlation_id": "c 1",
				}
				if fmt.Sprint(metadata) != fmt.Sprint(want) || string(e.Payload) != fmt.Sprintf(`{"order_id":"%d"}`, i+1) {
					t.Errorf("stored is %s with %q, want %q", e.Payload, metadata, want)
				}
			}
			bad := paid(t, "3")
			must(t, bad.SetData(sdk.ApplicationJSON, map[string]int{"order_id": 7}))
			if status := send(t, to, paid(t, "4"), bad); mode == "batched" && (status != 422 || len(stored(t, path)) != 2) || status != 422 {
				t.Errorf("of a wrong payload the status is %d", status)
			}
		})
	}
}

// single sends events one by one, and returns the last status.
func single(mode func(context.Context) context.Context) func(t *testing.T, to string, events ...sdk.Event) int {
	return func(t *testing.T, to string, events ...sdk.Event) (status int) {
		client, err := sdk.NewClientHTTP(sdk.WithTarget(to))
		must(t, err)
		for _, e := range events {
			result := client.Send(mode(t.Context()), e)
			var answer *sdkhttp.Result
			if !protocol.ResultAs(result, &answer) {
				t.Fatalf("the result is %v", result)
			}
			status = answer.StatusCode
		}
		return status
	}
}

func TestTheSDKAsTheReceiverInAllModes(t *testing.T) {
	for _, mode := range []string{"binary", "structured", "batched"} {
		t.Run(mode, func(t *testing.T) {
			bus, _ := open(t)
			got := make(chan sdk.Event, 10)
			p, err := sdk.NewHTTP()
			must(t, err)
			var handler http.Handler
			handler, err = sdk.NewHTTPReceiveHandler(t.Context(), p, func(e sdk.Event) { got <- e })
			must(t, err)
			batched := func(w http.ResponseWriter, r *http.Request) {
				if !sdkhttp.IsHTTPBatch(r.Header) {
					t.Errorf("this is no batch: %v", r.Header)
				}
				events, err := sdkhttp.NewEventsFromHTTPRequest(r)
				if err != nil {
					t.Error(err)
				}
				for _, e := range events {
					got <- e
				}
			}
			to := cloudevents.Webhook{Binary: mode == "binary"}
			if mode == "batched" {
				to.URL = serve(t, http.HandlerFunc(batched))
				_, err = cloudevents.ForwardBatches(bus, paidType, "partner", to)
			} else {
				to.URL = serve(t, handler)
				_, err = cloudevents.Forward(bus, "*", "partner", to)
			}
			must(t, err)
			in := paid(t, "7")
			if status := single(sdk.WithEncodingStructured)(t, serve(t, cloudevents.Receive(bus)), in); status != http.StatusAccepted {
				t.Fatalf("the status is %d", status)
			}
			e := <-got
			must(t, e.Validate())
			// The SDK does not decode the percent signs that the HTTP binding demands in headers.
			subject, correlation := e.Subject(), fmt.Sprint(e.Extensions()["correlationid"])
			if mode == "binary" {
				subject, err = url.PathUnescape(subject)
				must(t, err)
				correlation, err = url.PathUnescape(correlation)
				must(t, err)
			}
			if e.ID() != in.ID() || e.Source() != in.Source() || e.Type() != in.Type() || subject != in.Subject() || !e.Time().Equal(in.Time()) ||
				string(e.Data()) != `{"order_id":"7"}` || e.DataSchema() != "https://shop.example/order.paid" || correlation != "c 1" {
				t.Errorf("sent was %v, and came in as %v", e, in)
			}
			if !strings.HasPrefix(e.DataContentType(), "application/json") {
				t.Errorf("the data is %s", e.DataContentType())
			}
		})
	}
}
