//go:build unix

package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	js "github.com/nats-io/nats.go/jetstream"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/jetstream"
	"github.com/busgen/busgen/runtime/jetstream/internal/servertest"
	"github.com/busgen/busgen/runtime/retry"
)

// oddBus is a bus with three subscriptions, which tell what they get. do decides what the
// handler returns.
func oddBus(target string, do func(subscription string, number, attempt int) error, opts ...runtime.Option) (*runtime.Bus, error) {
	bus, err := runtime.Open(context.Background(), target, conformance.Catalogue, append(opts, runtime.WithLogger(slog.New(slog.DiscardHandler)))...)
	if err != nil {
		return nil, err
	}
	policy := runtime.WithRetry(retry.MaxAttempts(3), retry.BaseDelay(20*time.Millisecond))
	for _, name := range []string{"careful", "mail"} {
		_, err := runtime.Subscribe(bus, conformance.PlacedType, name, func(_ context.Context, e runtime.Event[conformance.OrderPlaced]) error {
			return do(name, e.Payload.Number, e.Attempt)
		}, policy)
		if err != nil {
			return nil, err
		}
	}
	_, err = runtime.Subscribe(bus, conformance.PaidType, "books", func(_ context.Context, e runtime.Event[conformance.OrderPaid]) error {
		return do("books", len(e.Payload.OrderID), e.Attempt)
	}, policy)
	return bus, err
}

// crash is the role of a process that is killed while it handles order 22.
func crash(args []string) {
	bus, err := oddBus(args[0], func(name string, n, _ int) error {
		if name == "careful" && n == 22 {
			servertest.Say("it runs")
			select {}
		}
		return nil
	})
	if err == nil {
		err = bus.Start(context.Background())
	}
	if err != nil {
		servertest.Say("error %v", err)
	}
	<-servertest.Asked()
}

// oddFile makes a file with what is rare: deliveries of a paused type, a dead letter that was
// edited and one that was retried, events that were discarded while nobody dispatched, and the
// claims of a process that was killed.
func oddFile(t *testing.T, dir string) (path string) {
	path = filepath.Join(dir, "shop.db")
	bus, err := oddBus(path, func(name string, n, _ int) error {
		if name == "mail" && n < 6 {
			return runtime.Permanent(errors.New("no such address"))
		}
		return nil
	})
	conformance.Must(t, err)
	conformance.Must(t, bus.PauseTypes(t.Context(), "order.paid", ""))
	var ids []*runtime.Receipt
	publish := func(from, to int) {
		for n := from; n < to; n++ {
			receipt, err := runtime.Publish(t.Context(), bus, conformance.PlacedType, conformance.OrderPlaced{OrderID: "A", Number: n})
			conformance.Must(t, err)
			ids = append(ids, receipt)
		}
	}
	publish(0, 20)
	for range 5 {
		_, err := runtime.Publish(t.Context(), bus, conformance.PaidType, conformance.OrderPaid{OrderID: "AB"})
		conformance.Must(t, err)
	}
	conformance.Must(t, bus.Start(t.Context()))
	for _, receipt := range ids {
		_, err := receipt.Wait(t.Context())
		conformance.Must(t, err)
	}
	conformance.Must(t, bus.Shutdown(t.Context()))
	bus, err = oddBus(path, func(string, int, int) error { return nil })
	conformance.Must(t, err)
	publish(20, 26)
	conformance.Must(t, bus.Shutdown(t.Context()))

	file, err := inspect.Open(t.Context(), path, inspect.WithEditing(conformance.Catalogue.Check))
	conformance.Must(t, err)
	_, err = file.Edit(t.Context(), event.Key{EventID: ids[0].ID, Subscription: "mail"}, []byte(`{"order_id":"A","number":100,"weight":0}`))
	conformance.Must(t, err)
	_, err = file.DiscardEvent(t.Context(), ids[24].ID, "mail", "a test")
	conformance.Must(t, err)
	_, err = file.DiscardEvent(t.Context(), ids[25].ID, "", "a test")
	conformance.Must(t, err)
	conformance.Must(t, file.PauseSubscription(t.Context(), "mail", "a test"))
	conformance.Must(t, file.Close())

	running := make(chan string, 8)
	p := servertest.StartProcess(t, func(line string) { running <- line }, "crasher", path)
	if line := <-running; line != "it runs" {
		t.Fatal(line)
	}
	p.Kill()
	return path
}

// lifeOf opens a bus, and returns what its handlers get and which dead letters there are.
func lifeOf(t *testing.T, target string, look []inspect.Option, opts ...runtime.Option) (life []string) {
	t.Helper()
	var mu sync.Mutex
	note := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		life = append(life, fmt.Sprintf(format, args...))
	}
	bus, err := oddBus(target, func(name string, n, attempt int) error {
		note("%s handles %d, attempt %d", name, n, attempt)
		return nil
	}, opts...)
	conformance.Must(t, err)
	conformance.Must(t, bus.ResumeTypes(t.Context(), "order.paid"))
	conformance.Must(t, bus.ResumeSubscription(t.Context(), "mail"))
	conformance.Must(t, bus.Start(t.Context()))
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	conformance.Must(t, bus.WaitIdle(ctx))
	conformance.Must(t, bus.Shutdown(t.Context()))
	file, err := inspect.Open(t.Context(), target, look...)
	conformance.Must(t, err)
	defer file.Close()
	report, err := file.Check(t.Context(), nil)
	conformance.Must(t, err)
	for _, p := range report.Problems {
		note("check-db: %s, %d times: %s", p.Rule, p.Count, p.Samples)
	}
	letters, _, err := file.DeadLetters(t.Context(), event.Filter{}, event.Page{Limit: 100})
	conformance.Must(t, err)
	for _, l := range letters {
		note("dead: %s of %s, %s, %d attempts, %s", l.EventID, l.Subscription, l.Reason, len(l.Attempts), l.Attempts[0].Error)
	}
	names, err := file.Subscriptions(t.Context())
	conformance.Must(t, err)
	for _, s := range names {
		note("%s is %d behind", s.Name, s.Backlog)
	}
	slices.Sort(life)
	return life
}

// A bus lives on the servers as it would have lived in the file.
func TestAFileWithRareDeliveriesLivesOnWhenItWasMoved(t *testing.T) {
	dir, copied := t.TempDir(), t.TempDir()
	path := oddFile(t, dir)
	conformance.Must(t, os.CopyFS(filepath.Join(copied, "file"), os.DirFS(dir)))
	want := lifeOf(t, filepath.Join(copied, "file", "shop.db"), nil)
	target := "nats://" + servertest.Listen(t) + "/shop"
	_, err := jetstream.Move(t.Context(), path, target, nil)
	conformance.Must(t, err)
	have := lifeOf(t, target, []inspect.Option{jetstream.Inspect()}, jetstream.Engine())
	if !slices.Equal(have, want) {
		t.Errorf("on the servers:\n%s\nin the file:\n%s", strings.Join(have, "\n"), strings.Join(want, "\n"))
	}
	if len(want) < 20 {
		t.Errorf("the file had too little to do: %q", want)
	}
}

// Nobody opens a bus while its events arrive, and nobody publishes to the file.
func TestABusOpensWhenAllOfItsEventsHaveArrived(t *testing.T) {
	size := fileSize{events: 700, retries: 10, dead: 5, subscriptions: 5}
	path := fillFile(t, size)
	target := "nats://" + servertest.Listen(t) + "/shop"
	open := func() error {
		bus, err := runtime.Open(context.Background(), target, conformance.Catalogue, jetstream.Engine(), runtime.WithLogger(slog.New(slog.DiscardHandler)))
		if err == nil {
			bus.Shutdown(context.Background())
		}
		return err
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err := jetstream.Move(ctx, path, target, func(jetstream.Moved) {
		if err := open(); faultOf(err) != event.Incomplete {
			t.Errorf("opening a bus whose events arrive: %v", err)
		}
		if _, err := runtime.Open(context.Background(), path, conformance.Catalogue); faultOf(err) != event.MovedAway {
			t.Errorf("opening a file whose events move: %v", err)
		}
		cancel()
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the move that was stopped: %v", err)
	}
	if err := open(); faultOf(err) != event.Incomplete {
		t.Errorf("opening a bus of which a part has arrived: %v", err)
	}
	moved, err := jetstream.Move(t.Context(), path, target, nil)
	if err != nil || moved.Events != size.events {
		t.Errorf("the second move: %+v, %v", moved, err)
	}
	conformance.Must(t, open())
}

// An event with more deliveries than a batch has messages moves in several.
func TestAnEventWithAThousandDeliveriesMoves(t *testing.T) {
	const subscriptions = 1000
	path := filepath.Join(t.TempDir(), "shop.db")
	bus, err := runtime.Open(t.Context(), path, conformance.Catalogue, runtime.WithLogger(slog.New(slog.DiscardHandler)))
	conformance.Must(t, err)
	for i := range subscriptions {
		_, err := runtime.Subscribe(bus, conformance.PlacedType, fmt.Sprint("s", i), func(context.Context, runtime.Event[conformance.OrderPlaced]) error { return nil })
		conformance.Must(t, err)
	}
	for range 3 {
		_, err := runtime.Publish(t.Context(), bus, conformance.PlacedType, conformance.OrderPlaced{OrderID: "A"}, runtime.WithDelay(time.Hour))
		conformance.Must(t, err)
	}
	conformance.Must(t, bus.Shutdown(t.Context()))
	address := servertest.Listen(t)
	moved, err := jetstream.Move(t.Context(), path, "nats://"+address+"/shop", nil)
	if err != nil || moved.Events != 3 || moved.Waiting != 3*subscriptions {
		t.Errorf("moved %+v, %v", moved, err)
	}
	events, rows := map[string]bool{}, map[string]int{}
	readShop(t, address, func(subject string, seq int64, _ js.Msg) {
		switch tokens := strings.Split(subject, "."); tokens[1] {
		case "e":
			events[fmt.Sprint(seq)] = true
		case "d":
			rows[tokens[3]]++
		}
	})
	for seq := range events {
		if rows[seq] != subscriptions {
			t.Errorf("event %s has %d deliveries", seq, rows[seq])
		}
	}
	if len(events) != 3 || len(rows) != 3 {
		t.Errorf("%d events, and deliveries of %d", len(events), len(rows))
	}
}
