//go:build unix

package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/jetstream"
	"github.com/busgen/busgen/runtime/jetstream/internal/servertest"
	"github.com/busgen/busgen/runtime/retry"
)

// order is what happens to an order, by its number.
type order struct{ n, poisonEvery int }

// orderKeys is how many partition keys orders have, one after the other.
const orderKeys = 500

// Whether the handler fails depends on the key, so that there are keys whose orders always succeed.
func (o order) key() int        { return o.n % orderKeys }
func (o order) poison() bool    { return o.poisonEvery > 0 && o.n%o.poisonEvery == 50 }
func (o order) permanent() bool { return o.key()%23 == 5 && !o.poison() }
func (o order) hasChild() bool  { return o.n%3 == 0 && !o.permanent() && !o.poison() }

// inOrder reports whether all orders of the key succeed at once, so that they are handled in order.
func (o order) inOrder() bool { return o.key()%7 != 3 && o.key()%23 != 5 && o.key() != 50 }

// fails is how many attempts fail before one succeeds.
func (o order) fails() int {
	if o.key()%7 == 3 {
		return o.n % 3
	}
	return 0
}

// lives is how many attempts a delivery of a worker has.
const lives = 6

// openUntil opens a bus as a program does that is started again and again.
func openUntil(target string, asked <-chan struct{}, opts ...runtime.Option) *runtime.Bus {
	logger := slog.New(slog.DiscardHandler)
	if os.Getenv("BUSGEN_TEST_LOG") != "" {
		logger = slog.New(slog.NewTextHandler(os.Stderr, nil)).With("pid", os.Getpid())
	}
	opts = append([]runtime.Option{runtime.WithLogger(logger), jetstream.Engine(jetstream.Replicas(3))}, opts...)
	for {
		bus, err := runtime.Open(context.Background(), target, conformance.Catalogue, opts...)
		if err == nil {
			return bus
		}
		pauseOrEnd("open", err, asked)
	}
}

// pauseOrEnd waits before the next try.
func pauseOrEnd(what string, err error, asked <-chan struct{}) {
	servertest.Say("error %s: %v", what, err)
	select {
	case <-asked:
		os.Exit(0)
	case <-time.After(200 * time.Millisecond):
	}
}

// work is the role of a worker: it handles orders and payments until it is asked to end. It
// says which it has handled before the handler returns. It also publishes something by itself,
// and says that this is acknowledged.
func work(args []string) {
	asked := servertest.Asked()
	poisonEvery, _ := strconv.Atoi(args[1])
	bus := openUntil(args[0], asked)
	handle := func(ctx context.Context, e runtime.Event[conformance.OrderPlaced]) error {
		o := order{e.Payload.Number, poisonEvery}
		servertest.Say("begin %d %d", o.n, time.Now().UnixNano())
		if o.n%11 == 2 {
			time.Sleep(20 * time.Millisecond)
		}
		switch {
		case o.poison():
			servertest.Say("dies %d", o.n)
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		case o.permanent():
			return runtime.Permanent(errors.New("never"))
		case e.Attempt <= o.fails():
			return errors.New("not yet")
		case o.hasChild():
			if _, err := runtime.Publish(ctx, bus, conformance.PaidType, conformance.OrderPaid{OrderID: fmt.Sprint(o.n)}); err != nil {
				return err
			}
		}
		servertest.Say("end %d %d", o.n, time.Now().UnixNano())
		servertest.Say("orders %d", o.n)
		return nil
	}
	paid := func(_ context.Context, e runtime.Event[conformance.OrderPaid]) error {
		servertest.Say("payments %s", e.Payload.OrderID)
		return nil
	}
	policy := runtime.WithRetry(retry.MaxAttempts(lives), retry.BaseDelay(200*time.Millisecond))
	for {
		if _, err := runtime.Subscribe(bus, conformance.PlacedType, "orders", handle, runtime.FromBeginning(), runtime.WithConcurrency(4), policy); err == nil {
			break
		} else {
			pauseOrEnd("subscribe", err, asked)
		}
	}
	for {
		if _, err := runtime.Subscribe(bus, conformance.PaidType, "payments", paid, runtime.FromBeginning(), policy); err == nil {
			break
		} else {
			pauseOrEnd("subscribe", err, asked)
		}
	}
	for {
		err := bus.Start(context.Background())
		if err == nil {
			break
		}
		pauseOrEnd("start", err, asked)
	}
	servertest.Say("started")
	go beat(bus)
	<-asked
	time.AfterFunc(lastPublication, func() { os.Exit(1) }) // the servers may be gone for good
	if err := bus.Shutdown(context.Background()); err != nil {
		servertest.Say("error shutdown: %v", err)
	}
}

// beat publishes something now and then.
func beat(bus *runtime.Bus) {
	for ; ; time.Sleep(200 * time.Millisecond) {
		if _, err := runtime.Publish(context.Background(), bus, conformance.UserType, conformance.UserCreated{Name: "beat"}); err == nil {
			servertest.Say("beat %d", os.Getpid())
		}
	}
}

// lastPublication is how long a publisher may take that is asked to end.
const lastPublication = time.Minute

// publish is the role of a publisher. It publishes orders from some number on, so many each
// second, until it is asked to end, and says which are acknowledged. What is refused is published
// again; what is in doubt is not.
func publish(args []string) {
	asked := servertest.Asked()
	from, _ := strconv.Atoi(args[1])
	perSecond, _ := strconv.Atoi(args[2])
	bus := openUntil(args[0], asked)
	numbers := make(chan int)
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for n := range numbers {
				publishOne(bus, n)
			}
		})
	}
	tick := time.NewTicker(time.Second / time.Duration(perSecond))
	for n := from; ; n++ {
		select {
		case <-tick.C:
			numbers <- n
			continue
		case <-asked:
		}
		break
	}
	time.AfterFunc(lastPublication, func() { os.Exit(1) }) // the servers may be gone for good
	close(numbers)
	wait.Wait()
	servertest.Say("published")
	bus.Shutdown(context.Background())
}

func publishOne(bus *runtime.Bus, n int) {
	for {
		servertest.Say("tried %d", n)
		_, err := runtime.Publish(context.Background(), bus, conformance.PlacedType, conformance.OrderPlaced{OrderID: strconv.Itoa(order{n: n}.key()), Number: n})
		var storage *event.StorageError
		switch {
		case err == nil:
			servertest.Say("acknowledged %d", n)
			return
		case errors.As(err, &storage) && storage.InDoubt:
			servertest.Say("doubted %d", n)
			servertest.Say("error publish: %v", err)
			return
		}
		pauseOrEnd("publish", err, nil)
	}
}
