//go:build linux

package postgres_test

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/postgres/internal/pgtest"
)

var cuts = short.Flag("cut.events", 2_000, 400, "how many events are published over connections that are cut")

// network lies before a server, and cuts connections.
type network struct {
	net.Listener
	server string
	mu     sync.Mutex
	open   map[net.Conn]bool
	lose   func(sent []byte) bool // tells whether the answer to it is lost, with the connection; may be nil
}

func (n *network) serve() {
	for {
		client, err := n.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", n.server)
		if err != nil {
			client.Close()
			continue
		}
		n.mu.Lock()
		n.open[client] = true
		n.mu.Unlock()
		go n.copy(client, server, client)
		go n.copy(server, client, client)
	}
}

func (n *network) copy(to, from, client net.Conn) {
	sent := make([]byte, 32<<10)
	for {
		size, err := from.Read(sent)
		if n.lose != nil && from == client && n.lose(sent[:size]) {
			client.Close()
			to.Write(sent[:size])
			time.Sleep(100 * time.Millisecond) // the server does it
			break
		}
		if _, wrong := to.Write(sent[:size]); err != nil || wrong != nil {
			break
		}
	}
	to.Close()
	from.Close()
	n.mu.Lock()
	delete(n.open, client)
	n.mu.Unlock()
}

// cut cuts some connection: what the server has got it does, and nobody hears of that.
func (n *network) cut() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for client := range n.open { // in no order
		client.Close()
		return
	}
}

// behind returns the database behind a network.
func (f *fixture) behind(lose func(sent []byte) bool) (*fixture, *network) {
	f.Helper()
	address, err := url.Parse(f.url)
	conformance.Must(f.T, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	conformance.Must(f.T, err)
	n := &network{Listener: listener, server: address.Host, open: map[net.Conn]bool{}, lose: lose}
	go n.serve()
	f.Cleanup(func() { n.Close() })
	address.Host = listener.Addr().String()
	return &fixture{f.T, address.String(), pgtest.Pool(f.T, address.String())}, n
}

func TestEventsArriveOnceOverConnectionsThatAreCut(t *testing.T) {
	direct := newFixture(t)
	f, n := direct.behind(nil)
	from, bus := f.outbox(), f.relay()
	got := f.handle(bus)
	stop := make(chan struct{})
	var cutting, publishing sync.WaitGroup
	cutting.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Duration(rand.IntN(50)) * time.Millisecond):
				n.cut()
			}
		}
	})
	known, doubtful := &conformance.Journal[string]{}, &conformance.Journal[string]{}
	const publishers = 8
	for i := range publishers {
		publishing.Go(func() {
			for number := range cuts.N() / publishers {
				f.publish(from, fmt.Sprint(i), number, known, doubtful)
			}
		})
	}
	publishing.Wait()
	close(stop)
	cutting.Wait()
	direct.drained()
	direct.until("all are handled", func() bool { return len(got.All()) >= len(known.All()) })
	conformance.Must(t, bus.WaitIdle(t.Context()))
	f.wantOnce(got, known, doubtful)
}
