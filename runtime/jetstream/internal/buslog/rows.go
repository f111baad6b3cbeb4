package buslog

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/busgen/busgen/runtime/internal/ledger"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// revOf returns the sequence number of the record of a row; 0 if there is none.
func (s *sub) revOf(seq int64) int64 {
	if r := s.rows[seq]; r != nil {
		return r.rev
	}
	return s.gone[seq]
}

func (v *logView) applyRow(rest string, m stream.Stored) error {
	id, text, _ := strings.Cut(rest, ".")
	seq, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return err
	}
	r, err := decodeRow(m.Data)
	if err != nil {
		return err
	}
	if r.Seq != seq {
		return errors.New("it is no row")
	}
	s := v.sub(id)
	before := s.rows[seq]
	if before != nil && before.rev >= m.Seq {
		return nil
	}
	r.rev, r.size = m.Seq, len(m.Data)
	s.countNewer(before, -1)
	s.countNewer(r, 1)
	s.countCancelled(before, -1)
	s.countCancelled(r, 1)
	if delete(s.gone, seq); r.gone {
		delete(s.rows, seq)
		s.noteGone(seq, m.Seq)
	} else {
		r = v.keep(s, r)
	}
	if seq <= s.clear && r.gone && seq >= s.next() {
		s.clear = seq - 1
	}
	if s.listener != nil {
		s.listener.rowChanged(before, r)
	}
	v.noteSettled()
	return nil
}

// countCancelled counts deliveries that somebody has cancelled and that are not settled. The
// caller holds mu.
func (s *sub) countCancelled(r *row, by int) {
	if r != nil && r.Cancelled && r.State.Open() {
		s.cancelled += by
	}
}

// goneRow is the record of a row that is gone.
type goneRow struct {
	seq, rev int64
	at       time.Time
}

// noteGone notes that a row is gone, and forgets those that the server has deleted by now.
// The caller holds mu.
func (s *sub) noteGone(seq, rev int64) {
	s.gone[seq] = rev
	s.goneRows = append(s.goneRows, goneRow{seq, rev, time.Now()})
	for len(s.goneRows) > 0 && time.Since(s.goneRows[0].at) > 2*goneTime {
		if first := s.goneRows[0]; s.gone[first.seq] == first.rev {
			delete(s.gone, first.seq)
		}
		s.goneRows = s.goneRows[1:]
	}
}

// queueRow notes when a row is due, if this process handles it. The caller holds mu.
func (s *sub) queueRow(r *row) {
	if s.listener != nil {
		s.listener.queueRow(r)
	}
}

// queueRow implements [listener].
func (sh *shares) queueRow(r *row) {
	switch {
	case !sh.has(r.slot()):
	case r.State == ledger.Waiting || r.forVersion():
		sh.in.shorten(r)
		sh.sub.due.add(dueAt{r.Due, r.Seq})
	case r.State == ledger.Held && !sh.in.typePaused(r.Type):
		sh.sub.due.add(dueAt{time.Time{}, r.Seq})
	}
}

// isDue reports whether a row of the queue still waits, and when it is due.
func (v *logView) isDue(s *sub, d dueAt) (*row, bool) {
	r := s.rows[d.seq]
	switch {
	case r == nil:
		return nil, false
	case r.State == ledger.Waiting || r.forVersion():
		return r, r.Due.Equal(d.due)
	}
	return r, r.State == ledger.Held && d.due.IsZero() && !v.typePaused(r.Type)
}
