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

func (l *Log) applyRow(rest string, m stream.Stored) error {
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
	s := l.sub(id)
	before := s.rows[seq]
	if before != nil && before.rev >= m.Seq {
		return nil
	}
	r.rev, r.size = m.Seq, len(m.Data)
	s.countNewer(before, -1)
	s.countNewer(r, 1)
	if r.forVersion() && l.units[id] != nil {
		l.lack() // somebody else may know it
	}
	s.countCancelled(before, -1)
	if s.countCancelled(r, 1); s.cancelled > 0 && l.units[id] != nil {
		l.units[id].shut()
	}
	if delete(s.gone, seq); r.gone {
		delete(s.rows, seq)
		s.noteGone(seq, m.Seq)
	} else {
		r = l.keep(s, r)
	}
	if seq <= s.clear && r.gone && seq >= s.next() {
		s.clear = seq - 1
	}
	l.queueRow(s, r)
	if u := l.units[id]; u != nil {
		if r.gone && before != nil && u.has(before.slot()) {
			l.tidy(leftover{id, seq, m.Seq})
		}
		u.rowChanged(r)
	}
	l.noteSettled()
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
func (l *Log) queueRow(s *sub, r *row) {
	u := l.units[s.ID]
	switch {
	case u == nil || !u.has(r.slot()):
	case r.State == ledger.Waiting || r.forVersion():
		l.shorten(r)
		s.due.add(dueAt{r.Due, r.Seq})
	case r.State == ledger.Held && !l.typePaused(r.Type):
		s.due.add(dueAt{time.Time{}, r.Seq})
	}
}

// isDue reports whether a row of the queue still waits, and when it is due.
func (l *Log) isDue(s *sub, d dueAt) (*row, bool) {
	r := s.rows[d.seq]
	switch {
	case r == nil:
		return nil, false
	case r.State == ledger.Waiting || r.forVersion():
		return r, r.Due.Equal(d.due)
	}
	return r, r.State == ledger.Held && d.due.IsZero() && !l.typePaused(r.Type)
}
