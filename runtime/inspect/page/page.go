package page

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/inspect/page/internal/job"
	"github.com/busgen/busgen/runtime/inspect/page/internal/looks"
	"github.com/busgen/busgen/runtime/inspect/page/internal/refusal"
	"github.com/busgen/busgen/runtime/inspect/page/internal/typeinfo"
)

// Page is the page of one file, to be mounted below a path that ends with a slash. It is
// safe for concurrent use.
type Page struct {
	file       *inspect.File
	files      *looks.Files
	actorOf    func(*http.Request) (actor string, ok bool) // nil without WithActions
	origin     http.CrossOriginProtection
	sensitive  bool                // sensitive values are shown
	catalogues typeinfo.Catalogues // of WithCatalogue and WithSource

	work   job.Work
	counts looks.Kept[causes]
	hours  looks.Kept[event.Hour]
	watch  watch
	rates  looks.Rates

	closing context.Context // ends with Close
	end     context.CancelFunc
	closed  func() error // waits for all requests, and closes what the page has opened

	mu    sync.Mutex
	notes map[string]note // what actions have done, by the id in the address of the next page
	order []string        // the ids, oldest first
	shown string          // the file, as command lines name it; empty until it was read
}

// Option tunes [New].
type Option func(*Page) error

// WithActions puts buttons on the page. The function decides, for each request, who acts: the
// name is in the audit. If it returns false, or an empty name, the page only looks, and an
// action is refused. Requests from other origins are refused before it is asked.
func WithActions(actorOf func(*http.Request) (actor string, ok bool)) Option {
	return func(p *Page) error {
		if actorOf == nil {
			return errors.New("WithActions: the function is nil; leave the option out for a page that only looks")
		}
		p.actorOf = actorOf
		return nil
	}
}

// WithSensitive shows the values of fields that the catalogue calls sensitive. Without it
// they are hidden in payloads, metadata, errors and logs: see [inspect.File.Hiding].
func WithSensitive() Option {
	return func(p *Page) error {
		p.sensitive = true
		return nil
	}
}

// New makes the page of a file. Close the page before the file.
func New(file *inspect.File, opts ...Option) (*Page, error) {
	if file == nil {
		return nil, errors.New("make a page: the file is nil")
	}
	p := &Page{file: file, notes: map[string]note{}}
	for n, opt := range opts {
		if opt == nil {
			return nil, fmt.Errorf("make a page: option %d is nil: leave it out", n+1)
		}
		if err := opt(p); err != nil {
			return nil, fmt.Errorf("make a page: %w", err)
		}
	}
	if !p.sensitive {
		p.file = file.Hiding()
	}
	p.closing, p.end = context.WithCancel(context.Background())
	p.files = looks.NewFiles(p.closing, p.file)
	p.closed = sync.OnceValue(p.files.Close)
	return p, nil
}

// Close ends what the page does by itself, and the requests that are being answered. It
// waits for jobs to stop; what is left of them can be resumed on another page of the
// file. It leaves the file open, and may be called again. Later requests get an error page.
func (p *Page) Close() error {
	p.end()
	p.work.Wait()
	return p.closed()
}

// ServeHTTP implements [http.Handler].
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	secure(w.Header())
	ctx, end := context.WithCancel(r.Context())
	defer end()
	defer context.AfterFunc(p.closing, end)()
	q := &request{Request: r.WithContext(ctx), page: p, now: time.Now()}
	defer q.giveBack()
	q.actor, q.mayAct = p.actor(r)
	err := p.answer(w, q)
	for n := 0; n < mostAgain && q.canLookAgain(err); n++ {
		err = p.answer(w, q)
	}
	if err != nil {
		q.refuse(w, err)
	}
}

// mostAgain is how often a page is made again.
const mostAgain = 3

// canLookAgain tells whether a program has begun to use the file while a request looked into
// it, a job of this page perhaps: the next look will go well. Nothing was answered yet.
func (q *request) canLookAgain(err error) bool {
	var storage *event.StorageError
	return (q.Method == http.MethodGet || q.Method == http.MethodHead) &&
		errors.As(err, &storage) && storage.Fault == event.Busy && time.Since(q.now) < 2*time.Second
}

// actor returns who acts by a request, if anybody may.
func (p *Page) actor(r *http.Request) (string, bool) {
	if p.actorOf == nil {
		return "", false
	}
	actor, ok := p.actorOf(r)
	return actor, ok && actor != ""
}

// answer finds out what a request is for. The last part of its path says it, wherever the
// page is mounted.
func (p *Page) answer(w http.ResponseWriter, q *request) error {
	if p.closing.Err() != nil {
		return refusal.New(http.StatusServiceUnavailable, "This page is closed.")
	}
	name := q.URL.Path[strings.LastIndexByte(q.URL.Path, '/')+1:]
	if a, ok := actions[name]; ok {
		return p.act(w, q, a)
	}
	if q.Method != http.MethodGet && q.Method != http.MethodHead {
		return notAllowed(w, "GET, HEAD")
	}
	if s := sheetAt(name); s != nil {
		return p.show(w, q, s)
	}
	if a, ok := answers[name]; ok {
		return a(w, q)
	}
	return refusal.New(http.StatusNotFound, "There is no such page.")
}

// request is one request to a page.
type request struct {
	*http.Request
	page   *Page
	now    time.Time
	actor  string
	mayAct bool
	still  bool          // what is shown is a part of a list that nothing new belongs to
	looks  *inspect.File // see file
}

// note is what an action has done, in words, for the next page.
type note struct{ Text string }

// mostNotes is how many notes are kept. Each is read once, by who acted.
const mostNotes = 100

// leave keeps a note, and returns its id.
func (p *Page) leave(text string) (id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	id = rand.Text()
	p.notes[id] = note{text}
	p.order = append(p.order, id)
	if len(p.order) > mostNotes {
		delete(p.notes, p.order[0])
		p.order = p.order[1:]
	}
	return id
}

// noteOf returns the note of an id, or nil. It stays, so that a page can be loaded again.
func (p *Page) noteOf(id string) *note {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n, ok := p.notes[id]; ok {
		return &n
	}
	return nil
}

// target returns the file as command lines name it.
func (q *request) target() (string, error) {
	q.page.mu.Lock()
	shown := q.page.shown
	q.page.mu.Unlock()
	if shown != "" {
		return shown, nil
	}
	status, err := q.file().Status(q.Context())
	if err == nil {
		q.page.named(status.Path)
	}
	return status.Path, err
}

// named keeps what the file is called.
func (p *Page) named(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shown = target
}
