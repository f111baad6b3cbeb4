package buslog

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// A row has a copy of its event and all of its attempts, and there may be many rows: those
// that wait, and all that are settled. So a process that handles events keeps of a row only
// what it decides by. The rest is read when it is needed, by the sequence number of the
// record. The newest rows are in memory as a whole: most of those that are needed soon.
//
// An [Inspection], which lists rows and looks into them, has all rows as a whole.

// WholeBytes is how many bytes of whole rows are kept. Tests change it.
var WholeBytes = 4 << 20

// wholeRows are the newest whole rows, by the sequence numbers of their records. They are
// never changed.
type wholeRows struct {
	rows  map[int64]*row
	order []int64
	bytes int
}

func (w *wholeRows) add(r *row) {
	if w.rows == nil {
		w.rows = map[int64]*row{}
	}
	if w.rows[r.rev] != nil {
		return
	}
	w.rows[r.rev] = r
	w.order, w.bytes = append(w.order, r.rev), w.bytes+r.size
	for w.bytes > WholeBytes && (len(w.order) > 1 || WholeBytes == 0) {
		w.bytes -= w.rows[w.order[0]].size
		delete(w.rows, w.order[0])
		w.order = w.order[1:]
	}
}

// part returns what a process keeps of a row. Reasons may have any length.
func (r *row) part() *row {
	p := *r
	p.isPart, p.lastKind = true, r.lastFailed()
	p.Payload, p.Metadata, p.Attempts, p.Crashes, p.Audits, p.Was = nil, nil, nil, nil, nil, nil
	if p.Progress = ""; !p.Cancelled {
		p.Reason = strings.Clone(p.Reason[:min(len(p.Reason), 64)])
	}
	return &p
}

// lastFailed returns how the last attempt has failed; empty for none.
func (r *row) lastFailed() string {
	if n := len(r.Attempts); n > 0 {
		return r.Attempts[n-1].Kind
	}
	return r.lastKind
}

// keep puts a row into the view.
func (v *logView) keep(s *sub, r *row) *row {
	switch {
	case !v.allRows && r.Bare:
		r = r.part()
	case !v.allRows:
		v.whole.add(r)
		r = r.part()
	case r.Bare:
		v.bare = append(v.bare, bareRow{s, r})
	}
	s.rows[r.Seq] = r
	return r
}

// inMemory returns the whole of a row, or nil if it has to be read.
func (v *logView) inMemory(r *row) *row {
	if !r.isPart {
		return r
	}
	return v.whole.rows[r.rev]
}

// wholeRow returns the whole row of a delivery, or nil if it has none. It gives mu back while the server is asked: then
// the row that is returned is the one that the view has now.
func (f *follower) wholeRow(s *sub, seq int64) (*row, error) {
	for {
		r := s.rows[seq]
		if r == nil {
			return nil, nil
		}
		if whole := f.inMemory(r); whole != nil {
			return whole, nil
		}
		f.mu.Unlock()
		whole, err := f.readRow(r.rev)
		if errors.Is(err, stream.ErrNotFound) { // there is a newer one
			err = f.sync(context.Background())
		}
		f.mu.Lock()
		switch {
		case err != nil:
			return nil, err
		case whole == nil && s.rows[seq] == r:
			return nil, stream.ErrNotFound
		case whole != nil && s.rows[seq] == r:
			f.whole.add(whole)
			return whole, nil
		}
	}
}

func (c *conn) readRow(rev int64) (*row, error) {
	m, err := c.stream.Get(context.Background(), rev)
	if err != nil {
		return nil, err
	}
	r, err := decodeRow(m.Data)
	if err != nil {
		return nil, err
	}
	if r.rev, r.size = rev, len(m.Data); !r.Bare {
		return r, nil
	}
	return c.dressed(context.Background(), r)
}

// bareRow is a row that lacks its event.
type bareRow struct {
	sub *sub
	row *row
}

// dressed returns a bare row with its event.
func (c *conn) dressed(ctx context.Context, r *row) (*row, error) {
	m, err := c.stream.Get(ctx, r.Seq)
	if err != nil {
		return nil, err
	}
	e, err := eventOf(m)
	if err != nil {
		return nil, err
	}
	whole := *r
	whole.Bare, whole.Payload, whole.Metadata = false, e.Payload, e.Metadata
	whole.size += len(e.Payload) + len(e.Metadata)
	return &whole, nil
}

// dress gives the rows their events that lack them. One whose event is deleted is settled.
func (f *follower) dress(ctx context.Context) error {
	f.mu.Lock()
	all := f.bare
	f.bare = nil
	f.mu.Unlock()
	for i, one := range all {
		whole, err := f.dressed(ctx, one.row)
		f.mu.Lock()
		switch {
		case err == nil && one.sub.rows[one.row.Seq] == one.row:
			one.sub.rows[one.row.Seq] = whole
		case err != nil && !errors.Is(err, stream.ErrNotFound):
			f.bare = append(f.bare, all[i:]...)
			f.mu.Unlock()
			return f.storage("read", err)
		}
		f.mu.Unlock()
	}
	return nil
}

// readSoon reads rows that will be needed, at once.
func (rd *reader) readSoon(rows []*row) {
	found := make([]*row, len(rows))
	rd.mu.Unlock()
	var wait sync.WaitGroup
	for i, r := range rows {
		wait.Go(func() {
			if whole, err := rd.readRow(r.rev); err == nil {
				found[i] = whole
			}
		})
	}
	wait.Wait()
	rd.mu.Lock()
	for _, whole := range found {
		if whole != nil {
			rd.whole.add(whole)
		}
	}
}

// wholeRows returns the whole rows of deliveries that are to be stored, or to be answered for, by event. It gives mu
// back while the server is asked.
func (st *storing) wholeRows(taken []*flight) (map[int64]*row, error) {
	if len(st.sub.rows) == 0 && len(st.sub.asks) == 0 && !slices.ContainsFunc(taken, func(f *flight) bool { return f.row != nil }) {
		return nil, nil
	}
	for {
		seqs := make([]int64, 0, len(taken)+len(st.sub.asks))
		for _, f := range taken {
			seqs = append(seqs, f.record.Seq)
		}
		for seq := range st.sub.asks {
			seqs = append(seqs, seq)
		}
		found, complete := map[int64]*row{}, true
		for _, f := range taken {
			if f.row != nil {
				found[f.record.Seq] = f.row
			}
		}
		for _, seq := range seqs {
			r := st.sub.rows[seq]
			if r == nil || found[seq] != nil && found[seq].rev == r.rev {
				continue
			}
			whole, err := st.in.wholeRow(st.sub, seq)
			if err != nil {
				return nil, err
			}
			found[seq] = whole
		}
		for _, seq := range seqs { // mu was free
			if r := st.sub.rows[seq]; r != nil && (found[seq] == nil || found[seq].rev != r.rev) {
				complete = false
			}
		}
		if complete {
			return found, nil
		}
	}
}

// wholeOf returns the whole row of a delivery that is to be stored, or nil if it has none.
func (st *storing) wholeOf(seq int64) *row {
	r := st.sub.rows[seq]
	if r == nil || !r.isPart {
		return r
	}
	return st.whole[seq]
}
