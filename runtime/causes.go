package runtime

import (
	"sync"

	"github.com/google/uuid"
)

// causes keeps the errors of the newest dead letters of this process, as handlers have
// returned them: the file has their texts only.
type causes struct {
	mu    sync.Mutex
	found map[causeKey]returned
	order [causesKept]causeKey // a ring
	next  int
}

// causesKept is for how many dead letters, so that memory does not grow with them.
const causesKept = 1024

type causeKey struct {
	event        uuid.UUID
	subscription string
}

type returned struct {
	err  error
	text string // as it is stored
}

// add keeps the last error of a dead letter.
func (c *causes) add(key causeKey, err error, text string) {
	if err == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.found == nil {
		c.found = map[causeKey]returned{}
	}
	if _, known := c.found[key]; !known {
		delete(c.found, c.order[c.next])
		c.order[c.next] = key
		c.next = (c.next + 1) % causesKept
	}
	c.found[key] = returned{err, text}
}

// of returns the error whose text is stored for a dead letter, or nil if it is not
// there any more.
func (c *causes) of(key causeKey, text string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if found, ok := c.found[key]; ok && found.text == text {
		return found.err
	}
	return nil
}
