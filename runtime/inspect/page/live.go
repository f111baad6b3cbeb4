package page

import (
	"encoding/json"
	"fmt"
	"hash/maphash"
	"net/http"
	"sync"
	"time"

	"github.com/busgen/busgen/runtime/event"
)

// watch tells browsers when something has changed. However many tabs listen, one goroutine
// looks at the file, and nobody looks when none listens: script.js does not listen in hidden
// tabs.
type watch struct {
	mu   sync.Mutex
	tabs map[chan int]bool
	busy bool // there is a goroutine
	n    int  // changes so far
}

const (
	// lookEvery is how long the watcher waits between two looks. It waits longer if a look
	// takes long: at most a tenth of the time is for looking.
	lookEvery = time.Second
	// aliveEvery is how often a tab hears that the connection stands, when nothing changes.
	aliveEvery = 20 * time.Second
)

// live answers with server-sent events: one for each change, without details. The browser
// then loads what it shows, with all its rules of who may see what.
func live(w http.ResponseWriter, q *request) error {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // for nginx
	if q.Method == http.MethodHead {
		return nil
	}
	tab := q.page.listen()
	defer q.page.watch.leave(tab)
	flush := http.NewResponseController(w).Flush
	ticker := time.NewTicker(aliveEvery)
	defer ticker.Stop()
	for text := "retry: 3000\n\n"; ; {
		if _, err := fmt.Fprint(w, text); err != nil || flush() != nil {
			return errGone
		}
		select {
		case n := <-tab:
			text = fmt.Sprintf("event: change\ndata: %d\n\n", n)
		case <-ticker.C:
			text = ": nothing has changed\n\n"
		case <-q.Context().Done():
			return errGone
		}
	}
}

// listen adds a tab, and a watcher if there is none.
func (p *Page) listen() chan int {
	w := &p.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.tabs == nil {
		w.tabs = map[chan int]bool{}
	}
	tab := make(chan int, 1)
	w.tabs[tab] = true
	if !w.busy {
		w.busy = true
		go p.look()
	}
	return tab
}

func (w *watch) leave(tab chan int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.tabs, tab)
}

// tell tells all tabs if something has changed, and ends the watcher if there are none.
func (w *watch) tell(changed bool) (goOn bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.busy = len(w.tabs) > 0; !w.busy {
		return false
	}
	if changed {
		w.n++
		for tab := range w.tabs {
			select {
			case tab <- w.n:
			default: // it has yet to read that something has changed
			}
		}
	}
	return true
}

// look looks at the file until nobody listens, or the page is closed.
func (p *Page) look() {
	var seed = maphash.MakeSeed()
	var last uint64
	for first := true; ; first = false {
		began := time.Now()
		now := p.digest(seed)
		if !p.watch.tell(!first && now != last) || p.closing.Err() != nil {
			return
		}
		last = now
		timer := time.NewTimer(max(lookEvery, 9*time.Since(began)))
		select {
		case <-timer.C:
		case <-p.closing.Done():
			timer.Stop()
		}
	}
}

// digest is another number when something has changed, or when it cannot be read any more.
func (p *Page) digest(seed maphash.Seed) uint64 {
	file, err := p.files.Take(p.closing)
	if err != nil {
		return 0
	}
	defer p.files.Give(file)
	status, err := file.Status(p.closing)
	status.At, status.Mark, status.WAL = time.Time{}, nil, 0
	entries, _, auditErr := file.Audit(p.closing, event.AuditFilter{}, event.Page{Limit: 1})
	end, endErr := file.Newest(p.closing, event.Filter{}, 1) // a status does not count the events of a large log
	end.Next = ""                                            // which has the time
	text, jsonErr := json.Marshal([]any{status, entries, end, fmt.Sprint(err, auditErr, endErr), p.work.State()})
	if jsonErr != nil {
		return 0
	}
	return maphash.Bytes(seed, text)
}
