package sqlite

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// LetterFilter chooses dead letters: those to which everything that is set
// applies.
type LetterFilter struct {
	Types         []string // globs, one of which matches
	Subscriptions []string
	Reasons       []string
	Keys          []LetterKey
	Fingerprint   string
	Text          string // in the payload, or in the error of an attempt
	CorrelationID string
	Since, Until  time.Time // of death, both inclusive
	Harmless      bool      // none whose last attempt has ended the process
}

const (
	// dead is what conditions are about. They reach the log only where they
	// have to, so that passing over letters is cheap.
	dead = " FROM deliveries d WHERE d.state = 'dead'"
	// known is what else there is to know about a dead letter. The order of the
	// tables is that in which they are read.
	known = `
		CROSS JOIN log l ON l.seq = d.seq
		CROSS JOIN types t ON t.id = l.type
		CROSS JOIN subscriptions s ON s.id = d.subscription`
)

// condition is SQL that follows what is dead, with its parameters.
type condition struct {
	sql  strings.Builder
	args []any
}

func (w *condition) and(sql string, args ...any) {
	w.sql.WriteString(" AND ")
	w.sql.WriteString(sql)
	w.args = append(w.args, args...)
}

// in adds that a value is one of a list.
func (w *condition) in(value string, list any) error {
	text, err := json.Marshal(list)
	w.and(value+" IN (SELECT value FROM json_each(?))", string(text))
	return err
}

// condition turns the filter into SQL.
func (f LetterFilter) condition(c *conn) (*condition, error) {
	w := &condition{}
	if len(f.Types) > 0 {
		types, err := typesMatching(c, f.Types)
		if err == nil {
			err = w.in("(SELECT l.type FROM log l WHERE l.seq = d.seq)", types)
		}
		if err != nil {
			return nil, err
		}
	}
	if len(f.Subscriptions) > 0 {
		text, err := json.Marshal(f.Subscriptions)
		if err != nil {
			return nil, err
		}
		w.and("d.subscription IN (SELECT a.id FROM json_each(?) n JOIN "+allNames+" a ON a.name = n.value)", string(text))
	}
	if len(f.Reasons) > 0 {
		if err := w.in("d.reason", f.Reasons); err != nil {
			return nil, err
		}
	}
	if len(f.Keys) > 0 {
		if err := w.keys(f.Keys); err != nil {
			return nil, err
		}
	}
	if f.Harmless {
		w.and("NOT d.suspect")
	}
	if f.Fingerprint != "" {
		w.and("d.fingerprint = ?", f.Fingerprint)
	}
	if !f.Since.IsZero() {
		w.and("d.dead_at >= ?", f.Since)
	}
	if !f.Until.IsZero() {
		w.and("d.dead_at <= ?", f.Until)
	}
	if f.CorrelationID != "" {
		w.and("json_extract((SELECT l.metadata FROM log l WHERE l.seq = d.seq), '$.correlation_id') = ?", f.CorrelationID)
	}
	if f.Text != "" {
		w.and(`(EXISTS (SELECT 1 FROM log l WHERE l.seq = d.seq AND instr(l.payload, ?) > 0) OR EXISTS (
			SELECT 1 FROM attempts a WHERE a.seq = d.seq AND a.subscription = d.subscription AND instr(a.error, ?) > 0))`, f.Text, f.Text)
	}
	return w, nil
}

// keys adds that the letter is one of these.
func (w *condition) keys(keys []LetterKey) error {
	pairs := make([][2]string, len(keys))
	for i, k := range keys {
		pairs[i] = [2]string{hex.EncodeToString(k.Event[:]), k.Subscription}
	}
	text, err := json.Marshal(pairs)
	w.and(`(d.subscription, d.seq) IN (
		SELECT ks.id, kl.seq FROM json_each(?) k
		JOIN log kl ON kl.id = unhex(k.value ->> 0) JOIN `+allNames+` ks ON ks.name = k.value ->> 1)`, string(text))
	return err
}

// typesMatching returns the numbers of the types that one of the globs is for, under
// any of their names.
func typesMatching(c *conn, globs []string) (types []int64, err error) {
	rows, err := typeRows(c)
	names := namesOf(rows)
	for _, row := range rows {
		for _, one := range globs {
			matches, err := patternMatchesAny(one, names[row.name])
			if err != nil {
				return nil, fmt.Errorf("type %q: %w", one, err)
			}
			if matches {
				types = append(types, row.id)
				break
			}
		}
	}
	return types, err
}
