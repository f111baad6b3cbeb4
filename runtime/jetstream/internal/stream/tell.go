package stream

import "time"

// tellTime is how long Tell waits at most until a message is on its way.
const tellTime = 100 * time.Millisecond

// Tell appends a message without waiting for the answer. When it returns, the operating system
// has the message, unless there is no connection: the message comes to the server even if this
// process ends now.
func (s *Stream) Tell(m *Msg) {
	if s.nc.PublishMsg(new(envelope).fill(m, "", 1, true)) != nil {
		return
	}
	for until := time.Now().Add(tellTime); time.Now().Before(until); time.Sleep(20 * time.Microsecond) {
		if n, err := s.nc.Buffered(); n == 0 || err != nil {
			return
		}
	}
}
