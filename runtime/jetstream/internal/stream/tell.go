package stream

import (
	"runtime"
	"time"
)

// tellTime is how long Tell waits at most until a message is on its way.
const tellTime = 100 * time.Millisecond

// tellTurns is how often it lets other goroutines run before it sleeps.
const tellTurns = 100

// Tell appends a message without waiting for the answer. When it returns, the operating system
// has the message, unless there is no connection: the message comes to the server even if this
// process ends now.
func (s *Stream) Tell(m *Msg) {
	if s.nc.PublishMsg(new(envelope).fill(m, "", 1, true)) != nil {
		return
	}
	until := time.Now().Add(tellTime)
	for try := 0; time.Now().Before(until); try++ {
		if n, err := s.nc.Buffered(); n == 0 || err != nil {
			return
		}
		if try < tellTurns {
			runtime.Gosched() // the goroutine that writes needs some microseconds
		} else {
			time.Sleep(20 * time.Microsecond)
		}
	}
}
