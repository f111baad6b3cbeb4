// Command liveview shows orders in a browser as they are placed: go run ./examples/recipes/liveview, then open
// http://localhost:8080.
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	events "github.com/busgen/busgen/examples/recipes/generated"
	"github.com/busgen/busgen/runtime"
)

//go:embed page.html
var page []byte

// routes serves until ending is closed: a stream has no end of its own, and would hold up the shutdown of the server.
func routes(bus *runtime.Bus, ending <-chan struct{}) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { w.Write(page) })
	mux.HandleFunc("GET /live", func(w http.ResponseWriter, r *http.Request) { live(w, r, bus, ending) })
	mux.HandleFunc("POST /orders", func(w http.ResponseWriter, r *http.Request) {
		var order events.OrderPlaced
		err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<10)).Decode(&order)
		if err == nil {
			_, err = events.PublishOrderPlaced(r.Context(), bus, order)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.WriteHeader(http.StatusAccepted)
	})
	return mux
}

// heartbeat is how often a stream without events says that it is alive, so that proxies do not close it.
const heartbeat = 15 * time.Second

// live streams the orders that are placed from now on, as Server-Sent Events.
func live(w http.ResponseWriter, r *http.Request, bus *runtime.Bus, ending <-chan struct{}) {
	open, gone := context.WithCancel(r.Context())
	defer gone()
	orders := make(chan runtime.Event[events.OrderPlaced])
	subscription, err := runtime.Subscribe(bus, events.OrderPlacedType, "live view",
		func(ctx context.Context, e runtime.Event[events.OrderPlaced]) error {
			select {
			case orders <- e:
			case <-open.Done(): // nobody looks any more
			case <-ctx.Done():
			}
			return nil
		}, runtime.Ephemeral())
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	defer func() {
		gone() // Unsubscribe waits for the handler
		subscription.Unsubscribe(context.WithoutCancel(r.Context()))
	}()

	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	stream := http.NewResponseController(w)
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	text := ": open\n\n"
	for {
		stream.SetWriteDeadline(time.Now().Add(heartbeat)) // of a browser that sleeps
		if _, err := fmt.Fprint(w, text); err != nil || stream.Flush() != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-ending:
			return
		case <-beat.C:
			text = ": alive\n\n"
		case e := <-orders:
			data, err := json.Marshal(map[string]any{"order_id": e.Payload.OrderID, "cents": e.Payload.Cents})
			if err != nil {
				return
			}
			text = fmt.Sprintf("id: %s\nevent: order.placed\ndata: %s\n\n", e.ID, data)
		}
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	listener, err := net.Listen("tcp", "localhost:8080")
	if err == nil {
		err = run(ctx, "liveview.db", listener)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, db string, listener net.Listener) (err error) {
	bus, err := events.Open(ctx, db)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bus.Shutdown(context.WithoutCancel(ctx))) }()
	server := &http.Server{Handler: routes(bus, ctx.Done()), ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case <-ctx.Done():
	case err := <-served:
		return err
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return server.Shutdown(ending) // before the bus: requests publish
}
