// Command httptests sends receipts with a mail provider that is reached over HTTP. Its tests need no network.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	events "github.com/busgen/busgen/examples/recipes/generated"
	"github.com/busgen/busgen/runtime"
)

// mailer is the provider. A request with an Idempotency-Key that it knows sends no second mail.
type mailer struct {
	client *http.Client
	url    string
}

func (m *mailer) subscribe(bus *runtime.Bus) error {
	_, err := events.SubscribeOrderPlaced(bus, events.OnOrderPlacedSendReceipt, func(ctx context.Context, e runtime.Event[events.OrderPlaced]) error {
		text := fmt.Sprintf("Thank you for order %s.", e.Payload.OrderID)
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, m.url+"/mails", strings.NewReader(text))
		if err != nil {
			return runtime.Permanent(err)
		}
		request.Header.Set("Idempotency-Key", e.ID.String())
		answer, err := m.client.Do(request)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		if answer.StatusCode/100 != 2 {
			return fmt.Errorf("the mail provider has answered %s", answer.Status)
		}
		return nil
	})
	return err
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, "mails.db", &mailer{client: &http.Client{Timeout: 5 * time.Second}, url: os.Getenv("MAIL_URL")}); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, db string, m *mailer) error {
	bus, err := events.Open(ctx, db)
	if err != nil {
		return err
	}
	defer bus.Shutdown(context.WithoutCancel(ctx))
	if err := m.subscribe(bus); err != nil {
		return err
	}
	if err := bus.Start(ctx); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}
