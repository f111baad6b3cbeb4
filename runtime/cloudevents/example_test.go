package cloudevents_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/cloudevents"
)

const registered = `{
	"specversion": "1.0", "id": "17", "source": "https://crm.example", "type": "user.registered", "correlationid": "c1",
	"data": {"user_id": "0190f3a2-7c1e-7a10-8f3e-2b1c9d4e5f60", "email": "ada@example.org", "newsletter": true, "preferences": {}}
}`

// A program takes the events of another one. The sender repeats its request, because an answer
// was lost, and then sends something else.
func ExampleReceive() {
	ctx := context.Background()
	folder, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(folder)
	bus, err := events.Open(ctx, filepath.Join(folder, "shop.db"), runtime.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer bus.Shutdown(ctx)
	events.SubscribeUserRegistered(bus, "welcome", func(_ context.Context, e runtime.Event[events.UserRegistered]) error {
		fmt.Println("welcome", e.Payload.Email, "of", e.Metadata["ce-source"], e.CorrelationID)
		return nil
	})
	bus.Start(ctx)
	server := httptest.NewServer(cloudevents.Receive(bus))
	defer server.Close()

	post := func(body string) {
		answer, err := http.Post(server.URL, "application/cloudevents+json", strings.NewReader(body))
		if err != nil {
			fmt.Println(err)
			return
		}
		defer answer.Body.Close()
		fmt.Println(answer.Status)
	}
	post(registered)
	post(registered)
	post(strings.ReplaceAll(registered, "ada@", "eve@"))
	post(strings.ReplaceAll(registered, "email", "mail"))
	bus.WaitIdle(ctx)
	// Unordered output:
	// 202 Accepted
	// 202 Accepted
	// 409 Conflict
	// 422 Unprocessable Entity
	// welcome ada@example.org of https://crm.example c1
}
