package stream

import "testing"

// SetFeedRoom sets how many messages wait in memory, for a test.
func SetFeedRoom(t *testing.T, room int) {
	before := feedRoom
	feedRoom = room
	t.Cleanup(func() { feedRoom = before })
}

// SetAPI makes a test the server that answers.
func (s *Stream) SetAPI(prefix string) { s.api = prefix }
