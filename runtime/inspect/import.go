package inspect

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/busgen/busgen/internal/glob"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/fingerprint"
	"github.com/busgen/busgen/runtime/internal/privacy"
)

// Import adds dead letters that [File.Export] has written, from this file or another.
// Each becomes a dead letter of its subscription, which must exist, with its attempts
// and the time it died. An event that the file does not have is added with its id, for
// the subscriptions of its dead letters only.
//
// Matched counts the dead letters in r, Moved those that were added, and Skipped those that
// the file has already: dead, open, discarded, or handled after a retry. So a second
// import changes nothing. A dead letter that was purged comes back, and one that
// [File.Erase] has discarded does not.
//
// A line with [HiddenValue] in a field that this file calls sensitive is not valid: it was
// written for people who look.
//
// It works in small transactions, and can be repeated when it was interrupted. It ends
// with an *[event.ImportError] at a line that is not valid; the lines before it are in the
// file.
func (f *File) Import(ctx context.Context, r io.Reader) (Counts, error) {
	adding, err := f.log.ImportDeadLetters()
	if err != nil {
		return Counts{}, err
	}
	m := &importer{ctx: ctx, adding: adding, hides: f.Hiding().log.(*veiled)}
	err = m.read(bufio.NewReader(r))
	if addErr := m.add(); addErr != nil {
		err = addErr // of an earlier line
	}
	return m.counts, err
}

// importer collects lines for one transaction.
type importer struct {
	ctx     context.Context
	adding  engine.Import
	hides   *veiled
	letters []event.DeadLetter
	lines   []int // of letters
	counts  Counts
}

// read takes one line after the other.
func (m *importer) read(r *bufio.Reader) error {
	for line := 1; ; line++ {
		text, err := r.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return err
		}
		if len(bytes.TrimSpace(text)) > 0 {
			letter, invalid := parseDeadLetter(text)
			if invalid == nil {
				var veil *privacy.Veil
				if _, veil, err = m.hides.hide(m.ctx, letter.Type, letter.Version, letter.Payload); err != nil {
					return err
				}
				if veil.HidesHidden() {
					invalid = errHidden
				}
				if letter.Fingerprint == "" {
					last := letter.LastAttempt()
					letter.Fingerprint = fingerprint.Of(letter.Reason, last.ErrorType, veil.Text(last.Error), last.Stack)
				}
			}
			if invalid != nil {
				return &event.ImportError{Line: line, Err: invalid}
			}
			m.counts.Matched++
			m.letters, m.lines = append(m.letters, letter), append(m.lines, line)
		}
		if err == io.EOF {
			return nil
		}
		if len(m.letters) == stepSize {
			if err := m.add(); err != nil {
				return err
			}
		}
	}
}

// add writes what was collected.
func (m *importer) add() error {
	if len(m.letters) == 0 {
		return nil
	}
	added, skipped, err := m.adding.Add(m.ctx, m.letters)
	if bad, ok := errors.AsType[*event.ImportError](err); ok {
		err = &event.ImportError{Line: m.lines[bad.Line], Err: bad.Err}
	}
	m.counts.Moved, m.counts.Skipped = m.counts.Moved+added, m.counts.Skipped+skipped
	m.letters, m.lines = m.letters[:0], m.lines[:0]
	return err
}

// parseDeadLetter reads a line and checks that nothing is missing.
func parseDeadLetter(line []byte) (letter event.DeadLetter, err error) {
	if !json.Valid(line) {
		return letter, errors.New("this is not a line of JSON")
	}
	if letter, err = event.ParseDeadLetter(line); err != nil {
		return letter, fmt.Errorf("this is not a dead letter: %w", err)
	}
	if !letter.PublishedAt.IsZero() {
		letter.PublishedAt = engine.Stored(letter.PublishedAt)
	}
	switch {
	case letter.EventID == uuid.Nil:
		return letter, errors.New("event_id is missing")
	case letter.Subscription == "":
		return letter, errors.New("subscription is missing")
	case len(letter.Payload) == 0:
		return letter, errors.New("payload is missing")
	case letter.PublishedAt.IsZero():
		return letter, errors.New("published_at is missing")
	case letter.DeadAt.IsZero():
		return letter, errors.New("dead_at is missing")
	case !slices.Contains(engine.Reasons(), letter.Reason):
		return letter, fmt.Errorf("reason %q is not one of %s", letter.Reason, strings.Join(engine.Reasons(), ", "))
	}
	if err := glob.ValidWire(strings.TrimPrefix(letter.Type, string(engine.OwnType))); err != nil {
		return letter, fmt.Errorf("type %w", err)
	}
	for _, a := range letter.Attempts {
		if !slices.Contains(engine.Kinds(), a.Kind) || a.Ended.IsZero() {
			return letter, fmt.Errorf("an attempt has kind %q and ended_at %v; kinds are %s", a.Kind, a.Ended, strings.Join(engine.Kinds(), ", "))
		}
	}
	return letter, nil
}
