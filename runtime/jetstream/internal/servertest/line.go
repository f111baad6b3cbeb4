package servertest

import (
	"bytes"
	"errors"
	"net"
	"sync"

	"github.com/nats-io/nats.go"
)

// Line is how a process of a test reaches the server. It can be cut, as when the process is
// killed, and frozen, as when the process is stopped or its network hangs.
type Line struct {
	server *Server

	mu      sync.Mutex
	conns   []net.Conn
	cut     bool
	deaf    bool          // what the server says is lost
	frozen  chan struct{} // closed when the line is no longer frozen; nil if it is not frozen
	held    []heldBytes   // what was written while it was frozen
	writes  int           // after so many the line is cut; 0 for never
	hears   int           // after so many writes it is deaf; 0 for never
	thaws   bool          // what is held is on its way
	diverts []diversion
}

// diversion is a subject that goes elsewhere.
type diversion struct{ from, to []byte }

// heldBytes are on their way to the server.
type heldBytes struct {
	conn  net.Conn
	bytes []byte
}

// errCut is the error of a line that is cut.
var errCut = errors.New("the line is cut")

// Line returns a new line to the server.
func (s *Server) Line() *Line { return &Line{server: s} }

// Other returns another line to the same server.
func (l *Line) Other() *Line { return l.server.Line() }

// To makes the line lead to another server, as when the first one is started again. Its
// connections end with their server.
func (l *Line) To(s *Server) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.server = s
}

// Connect connects to the server over the line.
func (l *Line) Connect(opts ...nats.Option) (*nats.Conn, error) {
	return nats.Connect("", append(opts, nats.InProcessServer(l))...)
}

// InProcessConn implements [nats.InProcessConnProvider].
func (l *Line) InProcessConn() (net.Conn, error) {
	if err := l.wait(); err != nil {
		return nil, err
	}
	l.mu.Lock()
	server := l.server
	l.mu.Unlock()
	conn, err := server.InProcessConn()
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns = append(l.conns, conn)
	return lineConn{conn, l}, nil
}

// Cut ends all connections and allows no new ones. Messages that the process sends from now on are lost.
func (l *Line) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut = true; l.frozen != nil {
		close(l.frozen)
		l.frozen = nil
	}
	for _, conn := range l.conns {
		conn.Close()
	}
}

// Restore ends Cut: the process may connect again.
func (l *Line) Restore() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = false
}

// Deafen loses what the server says from now on, until Drop.
func (l *Line) Deafen() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.deaf = true
}

// DeafenAfter is Deafen, when the line was written to so many times more.
func (l *Line) DeafenAfter(writes int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hears = max(writes, 1)
}

// Drop ends all connections. The process may connect again.
func (l *Line) Drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.deaf, l.hears = false, 0
	for _, conn := range l.conns {
		conn.Close()
	}
	l.conns = nil
}

// CutAfter cuts the line when it was written to so many times more, in the middle of what is
// written then.
func (l *Line) CutAfter(writes int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writes = max(writes, 1)
}

// Freeze holds up what either side says, until Thaw.
func (l *Line) Freeze() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.frozen == nil && !l.cut {
		l.frozen = make(chan struct{})
	}
}

// Thaw ends Freeze.
func (l *Line) Thaw() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.frozen != nil {
		close(l.frozen)
		l.frozen, l.thaws = nil, true
		go l.deliver()
	}
}

// deliver writes what was held.
func (l *Line) deliver() {
	for {
		l.mu.Lock()
		if len(l.held) == 0 {
			l.thaws = false
			l.mu.Unlock()
			return
		}
		next := l.held[0]
		l.held = l.held[1:]
		l.mu.Unlock()
		next.conn.Write(next.bytes)
	}
}

// Divert makes the messages to a subject go to another one, which is as long: another responder answers them.
func (l *Line) Divert(from, to string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.diverts = append(l.diverts, diversion{[]byte("PUB " + from + " "), []byte("PUB " + to + " ")})
}

// Undivert ends Divert.
func (l *Line) Undivert() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.diverts = nil
}

// wait waits while the line is frozen.
func (l *Line) wait() error {
	for {
		l.mu.Lock()
		cut, frozen := l.cut, l.frozen
		l.mu.Unlock()
		switch {
		case cut:
			return errCut
		case frozen == nil:
			return nil
		}
		<-frozen
	}
}

// lineConn is a connection over a line.
type lineConn struct {
	net.Conn
	line *Line
}

func (l *Line) isDeaf() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.deaf
}

func (c lineConn) Write(p []byte) (int, error) {
	l, n := c.line, len(p)
	l.mu.Lock()
	for _, d := range l.diverts {
		p = bytes.ReplaceAll(p, d.from, d.to)
	}
	switch {
	case l.writes == 1 && !l.cut:
		l.mu.Unlock()
		c.Conn.Write(p[:len(p)/2])
		l.Cut()
		return 0, errCut
	case l.writes > 1:
		l.writes--
	}
	if l.hears--; l.hears == 0 {
		l.deaf = true
	}
	l.hears = max(l.hears, 0)
	switch {
	case l.cut:
		l.mu.Unlock()
		return 0, errCut
	case l.frozen != nil || l.thaws: // as into the buffer of a socket: the writer does not wait
		l.held = append(l.held, heldBytes{c.Conn, append([]byte(nil), p...)})
		l.mu.Unlock()
		return n, nil
	}
	l.mu.Unlock()
	return c.Conn.Write(p)
}

func (c lineConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	for err == nil && c.line.isDeaf() {
		n, err = c.Conn.Read(p)
	}
	if wrong := c.line.wait(); wrong != nil {
		return 0, wrong
	}
	return n, err
}
