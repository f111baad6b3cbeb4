package servertest

import (
	"net"
	"strings"
	"sync"
	"testing"
)

// Proxy is the network between a process and the servers. It can be cut: then nothing gets
// through in either direction, and neither side is told. Data that was sent meanwhile
// arrives when it is healed, as with a network that loses packets for a while. Or it can
// refuse: then all connections end, and new ones do so at once.
type Proxy struct {
	hosts []string

	mu      sync.Mutex
	gate    chan struct{} // closed when the network is healed; nil if it is not cut
	conns   map[net.Conn]bool
	refuses bool
}

// StartProxy starts a proxy for the servers of some hosts, which are separated by commas. It
// ends with the test.
func StartProxy(t testing.TB, hosts string) *Proxy {
	t.Helper()
	p := &Proxy{conns: map[net.Conn]bool{}}
	for _, host := range strings.Split(hosts, ",") {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		p.hosts = append(p.hosts, l.Addr().String())
		go p.accept(l, host)
	}
	t.Cleanup(p.Refuse)
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

// Refuse ends all connections, and new ones as soon as they are made.
func (p *Proxy) Refuse() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuses = true
	for conn := range p.conns {
		reset(conn)
	}
	p.open()
}

// reset ends a connection, and loses what is on its way.
func reset(conn net.Conn) {
	conn.(*net.TCPConn).SetLinger(0)
	conn.Close()
}

// Heal ends Cut and Refuse.
func (p *Proxy) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuses = false
	p.open()
}

// open lets everything through. The caller holds mu.
func (p *Proxy) open() {
	if p.gate != nil {
		close(p.gate)
		p.gate = nil
	}
}

// add notes connections. It reports false if they are refused.
func (p *Proxy) add(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range conns {
		if p.conns[conn] = true; p.refuses {
			reset(conn)
		}
	}
	return !p.refuses
}

func (p *Proxy) remove(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range conns {
		conn.Close()
		delete(p.conns, conn)
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
			defer p.remove(client)
			if !p.add(client) {
				return
			}
			p.wait()
			server, err := net.Dial("tcp", host)
			if err != nil {
				return
			}
			defer p.remove(server)
			if !p.add(client, server) {
				return
			}
			var both sync.WaitGroup
			both.Go(func() { p.carry(client, server) })
			both.Go(func() { p.carry(server, client) })
			both.Wait()
		}()
	}
}

// carry carries what one side says to the other, until it has ended the connection. Its
// data from before that arrives, also when the other side does not listen any more.
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
