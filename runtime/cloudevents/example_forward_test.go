package cloudevents_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/cloudevents"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
)

// openShop opens a bus whose events have a source. The catalogue can say it, too: see
// docs/catalogue.md.
func openShop(ctx context.Context, folder string) (*runtime.Bus, error) {
	events.Catalogue.WithCloudEvents(runtime.CloudEvents{Source: "https://shop.example"})
	return events.Open(ctx, filepath.Join(folder, "shop.db"), runtime.WithLogger(slog.New(slog.DiscardHandler)))
}

// A program sends its events to the webhook of a partner, and signs them. The partner's program checks the
// signature, and stores them.
func ExampleForward() {
	ctx := context.Background()
	folder, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(folder)
	bus, err := openShop(ctx, folder)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer bus.Shutdown(ctx)
	partner := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var e cloudevents.Event
		if err := json.NewDecoder(r.Body).Decode(&e); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		fmt.Println(e.Type, "of", e.Source, "is signed:", r.Header.Get("Webhook-Signature") != "")
		w.WriteHeader(http.StatusAccepted)
	}))
	defer partner.Close()

	_, err = cloudevents.Forward(bus, "user.*", "partner", cloudevents.Webhook{
		URL:     partner.URL,
		Secrets: []string{"whsec_b2xkb2xkb2xkb2xkb2xkb2xkb2xkb2xk"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	bus.Start(ctx)
	_, err = events.PublishUserRegistered(ctx, bus, events.UserRegistered{UserID: uuid.New(), Email: "ada@example.org", Preferences: map[string]string{}})
	if err != nil {
		fmt.Println(err)
	}
	bus.WaitIdle(ctx)
	// Output:
	// user.registered of https://shop.example is signed: true
}

// The events of a log are written as lines of JSON, without the values of sensitive fields.
func ExampleExport() {
	ctx := context.Background()
	folder, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(folder)
	bus, err := openShop(ctx, folder)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer bus.Shutdown(ctx)
	for _, who := range []string{"ada@example.org", "eve@example.org"} {
		_, err := events.PublishUserRegistered(ctx, bus, events.UserRegistered{UserID: uuid.New(), Email: who, Preferences: map[string]string{}})
		if err != nil {
			fmt.Println(err)
		}
	}

	file, err := inspect.Open(ctx, filepath.Join(folder, "shop.db"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer file.Close()
	var lines bytes.Buffer
	n, err := cloudevents.Export(ctx, &lines, file.Hiding(), event.Filter{Types: []string{"user.*"}}, bus.Catalogue().CloudEvents())
	fmt.Println(n, err)
	for line := range strings.Lines(lines.String()) {
		var e cloudevents.Event
		json.Unmarshal([]byte(line), &e)
		fmt.Println(e.Type, e.Source, len(e.Extensions["sequence"]))
	}
	// Output:
	// 2 <nil>
	// user.registered https://shop.example 19
	// user.registered https://shop.example 19
}
