package postgres

import (
	"context"
	"sync"
	"time"
)

// bell tells relays that events have been published: that of this process, which is on ear, and those of others by a
// notification, with [WithNotify]. It is the other way round, too: a relay listens with it.
type bell struct {
	*tables
	ear chan struct{}

	mu     sync.Mutex
	timer  *time.Timer // of the notification that is to be sent; nil for none
	silent bool
	sends  sync.WaitGroup
}

// notifyEvery is the time between a publish and the notification, which is for all that is published meanwhile.
const notifyEvery = 10 * time.Millisecond

func newBell(t *tables) *bell { return &bell{tables: t, ear: make(chan struct{}, 1)} }

// ring says that something was published.
func (b *bell) ring() {
	b.wake()
	if !b.notify || b.listen != nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.timer == nil && !b.silent {
		b.sends.Add(1)
		b.timer = time.AfterFunc(notifyEvery, b.send)
	}
}

func (b *bell) wake() {
	select {
	case b.ear <- struct{}{}:
	default:
	}
}

// send notifies other processes. If that fails they find the events when they look.
func (b *bell) send() {
	defer b.sends.Done()
	b.mu.Lock()
	b.timer = nil
	b.mu.Unlock()
	ctx, end := context.WithTimeout(context.Background(), tryTime)
	defer end()
	b.db.exec(ctx, "SELECT pg_notify($1::text, '')", b.channel())
}

// stop waits for what is being sent.
func (b *bell) stop() {
	b.mu.Lock()
	b.silent = true
	b.mu.Unlock()
	b.sends.Wait()
}

// heed wakes the ear whenever another process has rung, until ctx ends or the connection fails.
func (b *bell) heed(ctx context.Context) error {
	_, err := b.listen.Exec(ctx, `LISTEN "`+b.channel()+`"`)
	for err == nil {
		b.wake() // there may have been something before
		_, err = b.listen.WaitForNotification(ctx)
	}
	return err
}
