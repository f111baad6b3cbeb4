package stream

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

// pipe sends messages that many goroutines append at a time, and hands each the answer of the
// server. It does what requests of nats.go do, without a context, a timer and a random subject
// for each: one timer finds the calls that are not answered in time.
type pipe struct {
	nc     *nats.Conn
	prefix string      // of the subjects of answers
	lost   func() bool // see Settings

	answers atomic.Uint64 // that have come

	mu    sync.Mutex
	last  uint64           // the number of the newest call
	calls map[uint64]*call // that are not answered
	free  []*call          // to be used again
	queue []sending        // what is to be sent
	spare []sending        // memory of queue
	sends bool             // there is a goroutine that sends the queue
	timer *time.Timer      // fails the calls that are late; it runs while there are calls
	rings bool             // it does
	sub   *nats.Subscription

	// What the server has refused, by subject. It does not say which of the messages it was: all of those
	// that are not answered, when it has refused so many.
	refused map[string]refusal
}

// refusal is how often the server has refused messages of a subject, while some are not answered.
type refusal struct {
	err   *DeniedError
	times int
}

// call is a message that is on its way.
type call struct {
	subject string
	until   time.Time
	ended   chan struct{} // gets a token; then these hold:
	answer  *nats.Msg
	err     error
}

// sending is the message of a call, which may have ended already.
type sending struct {
	number uint64
	msg    *nats.Msg
}

// freeCalls is how many calls are kept to be used again.
const freeCalls = 1024

func newPipe(nc *nats.Conn) (*pipe, error) {
	p := &pipe{nc: nc, prefix: nc.NewInbox() + ".", calls: map[uint64]*call{}, refused: map[string]refusal{}}
	var err error
	if p.sub, err = nc.Subscribe(p.prefix+"*", p.answered); err != nil {
		return nil, err
	}
	return p, p.sub.SetPendingLimits(-1, -1)
}

// ask sends a message and waits for the answer. If there is none in time the error matches
// [ErrInDoubt].
func (p *pipe) ask(ctx context.Context, m *nats.Msg, until time.Time) (*nats.Msg, error) {
	p.mu.Lock()
	p.last++
	c, one, alone := p.newCall(), sending{p.last, m}, len(p.calls) == 0
	m.Reply, c.until, c.subject = p.prefix+strconv.FormatUint(one.number, 36), until, m.Subject
	p.calls[one.number] = c
	p.watch(until)
	if !alone {
		p.queue = append(p.queue, one)
	}
	start := !alone && !p.sends
	p.sends = p.sends || start
	p.mu.Unlock()
	switch {
	case alone:
		p.send(one)
	case start:
		go p.sendQueue()
	}
	select {
	case <-c.ended:
	case <-ctx.Done():
		if p.take(one.number) == nil { // it has just ended
			<-c.ended
		} else {
			c.err = fmt.Errorf("%w: %w", ErrInDoubt, ctx.Err())
		}
	}
	answer, err := c.answer, c.err
	p.release(c)
	if err == nil && len(answer.Data) == 0 && answer.Header.Get("Status") == "503" {
		return nil, nats.ErrNoResponders
	}
	return answer, err
}

// sendQueue sends what is queued. The client writes to the connection as soon as something is to be
// written: so that it is not one message at a time, callers that are about to queue theirs go first.
func (p *pipe) sendQueue() {
	for {
		runtime.Gosched()
		p.mu.Lock()
		queue := p.queue
		if len(queue) == 0 {
			p.sends = false
			p.mu.Unlock()
			return
		}
		p.queue, p.spare = p.spare, nil
		p.mu.Unlock()
		for _, one := range queue {
			p.send(one)
		}
		clear(queue)
		p.mu.Lock()
		p.spare = queue[:0]
		p.mu.Unlock()
	}
}

func (p *pipe) send(one sending) {
	if p.lost != nil && p.lost() {
		return
	}
	err := p.nc.PublishMsg(one.msg)
	if err == nil {
		return
	}
	if c := p.take(one.number); c != nil {
		c.err = err
		c.ended <- struct{}{}
	}
}

// newCall returns a call that has not ended. The caller holds mu.
func (p *pipe) newCall() *call {
	if n := len(p.free); n > 0 {
		c := p.free[n-1]
		p.free = p.free[:n-1]
		return c
	}
	return &call{ended: make(chan struct{}, 1)}
}

// release lets a call that has ended be used again.
func (p *pipe) release(c *call) {
	c.answer, c.err = nil, nil
	p.mu.Lock()
	if len(p.free) < freeCalls {
		p.free = append(p.free, c)
	}
	p.mu.Unlock()
}

// take removes a call, and returns it unless another goroutine has.
func (p *pipe) take(number uint64) *call {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.calls[number]
	delete(p.calls, number)
	return c
}

// answered takes an answer of the server.
func (p *pipe) answered(m *nats.Msg) {
	number, err := strconv.ParseUint(m.Subject[len(p.prefix):], 36, 64)
	if err != nil {
		return
	}
	p.answers.Add(1)
	if c := p.take(number); c != nil {
		c.answer = m
		c.ended <- struct{}{}
	}
}

// watch makes the timer ring when calls may be late. The caller holds mu.
func (p *pipe) watch(until time.Time) {
	if p.rings {
		return
	}
	p.rings = true
	if wait := min(time.Until(until), lateness); p.timer == nil {
		p.timer = time.AfterFunc(wait, p.late)
	} else {
		p.timer.Reset(wait)
	}
}

// lateness is how much later than it should a call fails at most.
const lateness = 100 * time.Millisecond

// late fails the calls that are not answered in time.
func (p *pipe) late() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	var next time.Time
	for number, c := range p.calls {
		switch {
		case !c.until.After(now):
			delete(p.calls, number)
			c.err = fmt.Errorf("%w: %w", ErrInDoubt, context.DeadlineExceeded)
			c.ended <- struct{}{}
		case next.IsZero() || c.until.Before(next):
			next = c.until
		}
	}
	p.failRefused()
	if p.rings = false; len(p.calls) > 0 {
		p.rings = true
		p.timer.Reset(min(next.Sub(now), lateness))
	}
}

// denied notes that the server has refused a message.
func (p *pipe) denied(err *DeniedError) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refused[err.Subject] = refusal{err, p.refused[err.Subject].times + 1}
	p.failRefused()
}

// failRefused fails the calls of which it is certain that the server has refused them: they are not in doubt. The
// caller holds mu.
func (p *pipe) failRefused() {
	for subject, r := range p.refused {
		var all []uint64
		for number, c := range p.calls {
			if c.subject == subject {
				all = append(all, number)
			}
		}
		if len(all) > r.times {
			continue // some of them may be stored; their answers come
		}
		delete(p.refused, subject)
		for _, number := range all {
			c := p.calls[number]
			delete(p.calls, number)
			c.err = r.err
			c.ended <- struct{}{}
		}
	}
}

// close fails all calls.
func (p *pipe) close() {
	p.sub.Unsubscribe()
	p.mu.Lock()
	defer p.mu.Unlock()
	for number, c := range p.calls {
		delete(p.calls, number)
		c.err = fmt.Errorf("%w: %w", ErrInDoubt, nats.ErrConnectionClosed)
		c.ended <- struct{}{}
	}
	if p.timer != nil {
		p.timer.Stop()
	}
}
