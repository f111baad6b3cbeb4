package buslog

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/view"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// auditMsg returns the message of a new entry in the audit. The caller holds mu.
func (ed *editor) auditMsg(e engine.AuditEntry) *stream.Msg {
	return ed.newEntryMsg(ed.newEntry(e))
}

// newEntry returns an entry with its time and the next number. If somebody else uses the
// number meanwhile, the batch of the entry is refused and made anew. The caller holds mu.
func (ed *editor) newEntry(e engine.AuditEntry) engine.AuditEntry {
	ed.entries++
	e.ID, e.At = ed.lastEntry+ed.entries, time.Now().UTC()
	return e
}

func (c *conn) newEntryMsg(e engine.AuditEntry) *stream.Msg {
	m := c.entryMsg(e)
	m.Expect = stream.Expecting(0)
	return m
}

// entryMsg returns the message of an entry, in the place of an earlier one.
func (c *conn) entryMsg(e engine.AuditEntry) *stream.Msg {
	data, _ := json.Marshal(e)
	return &stream.Msg{Subject: c.subject(auditToken, strconv.FormatInt(e.ID, 10)), Data: data, Only: true}
}

// growing is the one entry that a change in steps has in the audit.
type growing struct {
	in    *Inspection
	entry engine.AuditEntry // as it is stored; its ID is 0 until it is
	draft engine.AuditEntry
}

// begin begins a step. The caller holds mu.
func (g *growing) begin() {
	if g.draft = g.entry; g.draft.ID == 0 {
		g.draft = g.in.newEntry(g.draft)
	}
}

// touch notes in a row that the action changes it, unless the entry names the event.
func (g *growing) touch(r *row) {
	if g.draft.EventID == uuid.Nil && !slices.Contains(r.Audits, g.draft.ID) {
		r.Audits = append(r.Audits, g.draft.ID)
	}
}

// add returns the message of the entry with a number of changes more; nil for none. The
// caller holds mu.
func (g *growing) add(changed int) *stream.Msg {
	if changed == 0 {
		g.draft = g.entry
		return nil
	}
	g.draft.Count += changed
	if g.entry.ID == 0 {
		return g.in.newEntryMsg(g.draft)
	}
	return g.in.entryMsg(g.draft)
}

// stored says that the message is stored.
func (g *growing) stored() { g.entry = g.draft }

// Audit implements [engine.AuditReader].
func (in *Inspection) Audit(ctx context.Context, f engine.AuditFilter, p engine.Page) ([]engine.AuditEntry, string, error) {
	if err := in.look(ctx); err != nil {
		return nil, "", err
	}
	defer in.mu.Unlock()
	touched := map[int64]bool{}
	if f.Event != uuid.Nil {
		for _, e := range in.auditOf(f.Event, nil) {
			touched[e.ID] = true
		}
	}
	found := slices.DeleteFunc(mapsValues(in.audit), func(e engine.AuditEntry) bool {
		return f.Actor != "" && e.Actor != f.Actor || len(f.Actions) > 0 && !slices.Contains(f.Actions, e.Action) ||
			f.Subscription != "" && !in.sameName(f.Subscription, e.Subscription) || f.Event != uuid.Nil && !touched[e.ID] ||
			!view.Within(e.At, f.Since, f.Until)
	})
	return view.Page(p, found, 1, func(e engine.AuditEntry) []int64 { return []int64{e.ID} }, false)
}

// auditOf returns what was done to the deliveries of an event, alone or together with
// others, oldest first: to one subscription, or to all for nil. The caller holds mu.
func (in *Inspection) auditOf(id uuid.UUID, only *sub) (entries []engine.AuditEntry) {
	for _, e := range in.audit {
		if e.EventID == id && (only == nil || e.Subscription == "" || in.sameName(e.Subscription, only.Name)) {
			entries = append(entries, e)
		}
	}
	for _, s := range in.inOrder() {
		if only != nil && s != only {
			continue
		}
		for _, r := range s.rows {
			for _, n := range r.Audits {
				if e := in.audit[n]; r.ID == id && e.EventID == uuid.Nil {
					e.Subscription = s.Name
					entries = append(entries, e)
				}
			}
		}
	}
	slices.SortFunc(entries, func(a, b engine.AuditEntry) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Subscription, b.Subscription))
	})
	return entries
}

// sameName reports whether two names are of one subscription.
func (in *Inspection) sameName(a, b string) bool {
	return a == b || in.registry.known(a) != nil && in.registry.known(a) == in.registry.known(b)
}
