//go:build unix

package jetstream_test

import (
	"context"
	"fmt"
	"os"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/jetstream"
)

// exampleServer starts a server with a user, and returns its address.
func exampleServer() (host string, stop func()) {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	s, err := natsserver.NewServer(&natsserver.Options{
		Host: "127.0.0.1", Port: natsserver.RANDOM_PORT, JetStream: true, StoreDir: dir, NoLog: true, NoSigs: true, Username: "shop", Password: "s3cret",
	})
	if err != nil {
		panic(err)
	}
	s.Start()
	s.ReadyForConnections(10 * time.Second)
	return s.Addr().String(), func() {
		s.Shutdown()
		s.WaitForShutdown()
		os.RemoveAll(dir)
	}
}

// Options of the NATS client say who the program is. In the same way there are nats.UserCredentials("shop.creds"),
// nats.NkeyOptionFromSeed("shop.nk"), nats.ClientCert("shop.pem", "shop-key.pem") and nats.RootCAs("ca.pem").
func ExampleOptions() {
	host, stop := exampleServer()
	defer stop()
	bus, err := runtime.Open(context.Background(), "nats://"+host+"/shop", conformance.Catalogue, jetstream.Engine(
		jetstream.Options(nats.UserInfo("shop", "s3cret"), nats.Name("checkout")),
	))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer bus.Shutdown(context.Background())
	_, err = runtime.Publish(context.Background(), bus, conformance.PlacedType, conformance.OrderPlaced{OrderID: "A-1"})
	fmt.Println(err)
	// Output: <nil>
}

// A program that has a connection gives it to the bus, and closes it afterwards.
func ExampleConn() {
	host, stop := exampleServer()
	defer stop()
	nc, err := nats.Connect(host, nats.UserInfo("shop", "s3cret"), nats.MaxReconnects(-1), nats.ReconnectBufSize(-1))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer nc.Close()
	bus, err := runtime.Open(context.Background(), "nats:///shop", conformance.Catalogue, jetstream.Engine(jetstream.Conn(nc)))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(bus.Shutdown(context.Background()), nc.IsConnected())
	// Output: <nil> true
}

// An account may require that each stream has a limit.
func ExampleStream() {
	host, stop := exampleServer()
	defer stop()
	bus, err := runtime.Open(context.Background(), "nats://shop:s3cret@"+host+"/shop", conformance.Catalogue, jetstream.Engine(
		jetstream.Stream(func(c *natsjs.StreamConfig) { c.MaxBytes = 10 << 20 }),
	))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(bus.Shutdown(context.Background()))
	// Output: <nil>
}
