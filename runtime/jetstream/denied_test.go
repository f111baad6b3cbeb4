//go:build unix

package jetstream_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/jetstream"
	"github.com/busgen/busgen/runtime/jetstream/internal/servertest"
)

// quietly are the permissions without which no call fails: the client of NATS says it.
var quietly = []string{"$JS.API.CONSUMER.DELETE.shop.>", "$JS.API.CONSUMER.MSG.NEXT.shop.>", "$JS.FC.shop.>", "$SYS.REQ.SERVER.PING.JSZ"}

// Without any one of the permissions of the page something is refused, for certain and soon, and the error or the log
// names what is missing.
func TestEachPermissionOfThePageIsNeeded(t *testing.T) {
	publish, subscribe := permitted(t)
	without := func(all []string, one string) *natsserver.SubjectPermission {
		return &natsserver.SubjectPermission{Allow: slices.DeleteFunc(slices.Clone(all), func(s string) bool { return s == one })}
	}
	try := func(kind, missing string, may natsserver.Permissions) {
		t.Run(kind+" "+missing, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				t.Cleanup(func() { time.Sleep(time.Second) }) // what the server has begun ends after it
				said, denied := livesWith(t, &may)
				if slices.Contains(quietly, missing) {
					said = denied
				}
				if want := strings.TrimSuffix(missing, ">"); !strings.Contains(said, want) {
					t.Errorf("nothing says that %s is missing:\n%s\n%s", missing, said, denied)
				}
			})
		})
	}
	for _, missing := range publish {
		try("publish", missing, natsserver.Permissions{Publish: without(publish, missing), Subscribe: without(subscribe, "")})
	}
	for _, missing := range subscribe {
		try("subscribe", missing, natsserver.Permissions{Publish: without(publish, ""), Subscribe: without(subscribe, missing)})
	}
}

// livesWith is the life of a bus whose user has permissions. It returns what errors and the log say, and what the client
// of NATS does.
func livesWith(t *testing.T, may *natsserver.Permissions) (said, denied string) {
	options := servertest.Options(t.TempDir())
	options.Users = []*natsserver.User{{Username: "shop", Password: "shop", Permissions: may}}
	options.NoSystemAccount = true
	s := servertest.StartWith(t, options, nil)
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	var mu sync.Mutex
	through := jetstream.Through(func(string) (*nats.Conn, error) {
		return s.Connect(append(jetstream.ClientOptions(), nats.UserInfo("shop", "shop"), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			mu.Lock()
			denied += err.Error() + "\n"
			mu.Unlock()
		}))...)
	})
	began := time.Now()
	note := func(err error) (failed bool) {
		var storage *event.StorageError
		if errors.As(err, &storage) && storage.InDoubt {
			t.Errorf("this is certain: %v", err)
		}
		if took := time.Since(began); err != nil && took > 10*time.Second {
			t.Errorf("after %v: %v", took, err)
		}
		if began = time.Now(); err != nil {
			said += err.Error() + "\n"
		}
		return err != nil
	}
	ctx := context.Background()
	open := func(opts ...runtime.Option) (*runtime.Bus, error) {
		return runtime.Open(ctx, "nats://test/shop", conformance.Catalogue, append(opts, runtime.WithLogger(logger), jetstream.Engine(through))...)
	}
	bus, err := open(runtime.WithRetention(time.Minute))
	if note(err) {
		return said + log.String(), denied
	}
	_, err = runtime.PublishBatch(ctx, bus, conformance.PaidType, make([]conformance.OrderPaid, 2000))
	note(err)
	_, err = runtime.Subscribe(bus, conformance.PaidType, "paid", func(context.Context, runtime.Event[conformance.OrderPaid]) error { return nil }, runtime.FromBeginning(), runtime.WithConcurrency(4))
	note(err)
	for _, name := range []string{"placed", "gone"} {
		_, err = runtime.Subscribe(bus, conformance.PlacedType, name, func(context.Context, runtime.Event[conformance.OrderPlaced]) error { return nil }, runtime.FromBeginning())
		note(err)
	}
	if !note(bus.Start(ctx)) {
		for n := range 30 { // more than the servers send without flow control
			_, err := runtime.Publish(ctx, bus, conformance.PaidType, conformance.OrderPaid{OrderID: strings.Repeat("A", 200_000)}, runtime.WithDedupeKey(fmt.Sprint(n)))
			if note(err) {
				break
			}
			_, err = runtime.Publish(ctx, bus, conformance.PlacedType, conformance.OrderPlaced{Number: n})
			note(err)
		}
		time.Sleep(time.Hour) // events are pruned
	}
	began = time.Now()
	brief, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	note(bus.Shutdown(brief))
	in, err := inspect.Open(ctx, "nats://test/shop", jetstream.Inspect(through))
	if !note(err) {
		_, err := in.Status(ctx)
		note(err)
		_, err = in.RemoveSubscription(ctx, "gone")
		note(err)
		in.Close()
	}
	mu.Lock()
	defer mu.Unlock()
	return said + log.String(), denied
}
