package stream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"weak"

	"github.com/nats-io/nats.go"
)

// DeniedError says that the user of the connection may not do something. Nothing was stored.
type DeniedError struct {
	Subscribe bool // or publish
	Subject   string
}

// Error names the permission that is missing.
func (e *DeniedError) Error() string {
	what := "publish"
	if e.Subscribe {
		what = "subscribe"
	}
	return fmt.Sprintf("the servers do not let this user %s to %s", what, e.Subject)
}

// denials tells callers that wait for an answer that the server has refused their message. The server
// does not answer that: it tells the connection. Streams of one connection share them.
type denials struct {
	mu      sync.Mutex
	pipes   map[*pipe]struct{}                               // are told what may not be published
	waiting map[string]map[*context.CancelCauseFunc]struct{} // by subject
	inboxes *DeniedError                                     // answers cannot come
	since   uint64                                           // how often the connection was made again before that
}

// listening are the denials of connections. Those of a connection that is gone are removed.
var listening = struct {
	sync.Mutex
	all map[weak.Pointer[nats.Conn]]*denials
}{all: map[weak.Pointer[nats.Conn]]*denials{}}

// denialsOf makes the errors of a connection known. The handler that the connection had is still called.
func denialsOf(nc *nats.Conn) *denials {
	listening.Lock()
	defer listening.Unlock()
	key := weak.Make(nc)
	if d := listening.all[key]; d != nil {
		return d
	}
	d := &denials{pipes: map[*pipe]struct{}{}, waiting: map[string]map[*context.CancelCauseFunc]struct{}{}}
	listening.all[key] = d
	runtime.AddCleanup(nc, func(key weak.Pointer[nats.Conn]) {
		listening.Lock()
		delete(listening.all, key)
		listening.Unlock()
	}, key)
	before := nc.ErrorHandler()
	nc.SetErrorHandler(func(nc *nats.Conn, sub *nats.Subscription, err error) {
		if denied := deniedBy(err); denied != nil {
			d.heard(nc, denied)
		}
		if before != nil {
			before(nc, sub, err)
		}
	})
	return d
}

// add makes a pipe be told what may not be published, until remove is called.
func (d *denials) add(p *pipe) (remove func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pipes[p] = struct{}{}
	return func() {
		d.mu.Lock()
		delete(d.pipes, p)
		d.mu.Unlock()
	}
}

// deniedBy returns what the server denies by an error of the connection, or nil.
func deniedBy(err error) *DeniedError {
	if !errors.Is(err, nats.ErrPermissionViolation) {
		return nil
	}
	for what, subscribe := range map[string]bool{`Publish to "`: false, `Subscription to "`: true} {
		if _, rest, found := strings.Cut(err.Error(), what); found {
			quoted, _ := strconv.QuotedPrefix(`"` + rest)
			if subject, err := strconv.Unquote(quoted); err == nil {
				return &DeniedError{subscribe, subject}
			}
		}
	}
	return nil
}

// heard tells the callers that a denial is about.
func (d *denials) heard(nc *nats.Conn, denied *DeniedError) {
	d.mu.Lock()
	var tell []*context.CancelCauseFunc
	inboxes := cmp.Or(nc.Opts.InboxPrefix, "_INBOX")
	switch {
	case !denied.Subscribe:
		tell = slices.Collect(maps.Keys(d.waiting[denied.Subject]))
	case strings.HasPrefix(denied.Subject, inboxes+"."):
		denied = &DeniedError{true, inboxes + ".>"}
		d.inboxes, d.since = denied, nc.Stats().Reconnects
		for _, all := range d.waiting {
			tell = slices.AppendSeq(tell, maps.Keys(all))
		}
	}
	pipes := slices.Collect(maps.Keys(d.pipes))
	d.mu.Unlock()
	for _, cancel := range tell {
		(*cancel)(denied)
	}
	if !denied.Subscribe {
		for _, p := range pipes {
			p.denied(denied)
		}
	}
}

// bound returns a context that ends when the server refuses what is sent to a subject, or that its answer comes.
// end ends it; then it returns why, or the error that it is given.
func (d *denials) bound(ctx context.Context, nc *nats.Conn, subject string) (mine context.Context, end func(error) error) {
	mine, cancel := context.WithCancelCause(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.inboxes != nil && d.since == nc.Stats().Reconnects {
		cancel(d.inboxes)
	}
	if d.waiting[subject] == nil {
		d.waiting[subject] = map[*context.CancelCauseFunc]struct{}{}
	}
	d.waiting[subject][&cancel] = struct{}{}
	return mine, func(err error) error {
		d.mu.Lock()
		if delete(d.waiting[subject], &cancel); len(d.waiting[subject]) == 0 {
			delete(d.waiting, subject)
		}
		d.mu.Unlock()
		var denied *DeniedError
		if err != nil && errors.As(context.Cause(mine), &denied) {
			err = denied
		}
		cancel(nil)
		return err
	}
}
