package servertest

import (
	"net"
	"strings"
	"sync"
	"testing"
)

// Proxy is the network between a process and the servers. It can be cut: then nothing gets
// through in either direction, and nobody is told. What was sent meanwhile arrives when it
// is healed, as with a network that loses packets for a while.
type Proxy struct {
	hosts []string

	mu    sync.Mutex
	gate  chan struct{} // closed when the network is healed; nil if it is not cut
	conns []net.Conn
	ended bool
}

// StartProxy starts a proxy for the servers of some hosts, which are separated by commas. It
// ends with the test.
func StartProxy(t testing.TB, hosts string) *Proxy {
	t.Helper()
	p := &Proxy{}
	for _, host := range strings.Split(hosts, ",") {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		p.hosts = append(p.hosts, l.Addr().String())
		go p.accept(l, host)
	}
	t.Cleanup(p.end)
	return p
}

// Hosts returns the addresses of the servers behind the proxy, with commas between them.
func (p *Proxy) Hosts() string { return strings.Join(p.hosts, ",") }

// Cut cuts the network.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gate == nil {
		p.gate = make(chan struct{})
	}
}

// Heal ends Cut.
func (p *Proxy) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gate != nil {
		close(p.gate)
		p.gate = nil
	}
}

func (p *Proxy) end() {
	p.Heal()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	for _, conn := range p.conns {
		conn.Close()
	}
}

// wait waits while the network is cut.
func (p *Proxy) wait() {
	p.mu.Lock()
	gate := p.gate
	p.mu.Unlock()
	if gate != nil {
		<-gate
	}
}

func (p *Proxy) accept(l net.Listener, host string) {
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			p.wait()
			server, err := net.Dial("tcp", host)
			if err != nil {
				client.Close()
				return
			}
			p.mu.Lock()
			p.conns = append(p.conns, client, server)
			ended := p.ended
			p.mu.Unlock()
			if ended {
				client.Close()
				server.Close()
				return
			}
			var both sync.WaitGroup
			both.Go(func() { p.carry(client, server) })
			both.Go(func() { p.carry(server, client) })
			both.Wait()
			client.Close()
			server.Close()
		}()
	}
}

// carry carries what one side says to the other, until it has ended the connection. What it
// said before that arrives, also when the other side does not listen any more.
func (p *Proxy) carry(from, to net.Conn) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		p.wait()
		to.Write(buffer[:n])
		if err != nil {
			to.(*net.TCPConn).CloseWrite()
			return
		}
	}
}
