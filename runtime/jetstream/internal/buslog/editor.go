package buslog

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/view"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// Changes of single records, such as an entry of the audit, are refused if another process has
// changed the record meanwhile; then they are made anew. Those of one process take turns: otherwise
// forty that come at once would be refused again and again, and wait for longer each time.

// editor changes records of the stream, one change of this process at a time. The view changes when they arrive.
type editor struct {
	follower
	changing chan struct{} // holds a token while records are changed
	entries  int64         // of the audit, in the batch that is being made; guarded by mu
}

func (ed *editor) init(s *stream.Stream, target string, options engine.Options) {
	ed.follower.init(s, target, options)
	ed.changing = make(chan struct{}, 1)
}

// turn waits until no other change of this process is on its way. The caller calls done when
// its own is stored.
func (ed *editor) turn(ctx context.Context) (done func(), err error) {
	select {
	case ed.changing <- struct{}{}:
		return func() { <-ed.changing }, nil
	case <-ed.stopped:
		return nil, ed.ended()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// edit stores the messages that change returns, all or nothing. change is called again, with mu held, if
// another process has changed one of the records meanwhile, and while the servers cannot store anything.
func (ed *editor) edit(ctx context.Context, change func() ([]*stream.Msg, error)) error {
	done, err := ed.turn(ctx)
	if err != nil {
		return err
	}
	defer done()
	tries := 0
	for began := time.Now(); ; {
		if err := ed.sync(ctx); err != nil {
			return err
		}
		if err := ed.enter(); err != nil {
			return err
		}
		ed.entries = 0
		msgs, err := change()
		ed.mu.Unlock()
		msgs = slices.DeleteFunc(msgs, func(m *stream.Msg) bool { return m == nil })
		if err != nil || len(msgs) == 0 {
			return err
		}
		first, err := ed.append(ctx, msgs...)
		if errors.Is(err, stream.ErrConflict) {
			if err := ed.refused(ctx, msgs); err != nil {
				return err
			}
			ed.yield(ctx, &tries)
			continue
		}
		if err != nil && !errors.Is(err, stream.ErrInDoubt) && ed.waits(ctx, began, err) {
			continue
		}
		if err != nil {
			return ed.storage("change", err)
		}
		return ed.learn(ctx, first+int64(len(msgs))-1)
	}
}

// yield waits before the next try, when another process has changed a record at the same
// time. If that happens again and again, the records may be other ones.
func (ed *editor) yield(ctx context.Context, tries *int) {
	if *tries++; *tries == 1 {
		return
	}
	if *tries%lookTries == 0 {
		go ed.verify()
	}
	select {
	case <-time.After(min(time.Duration(*tries)*flushDelay, time.Second)):
	case <-ed.stopped:
	case <-ctx.Done():
	}
}

// lookTries is after how many tries it is time to look.
const lookTries = 4

// auditMsg returns the message of a new entry in the audit.
func (ed *editor) auditMsg(e event.AuditEntry) *stream.Msg {
	return ed.newEntryMsg(ed.newEntry(e))
}

// newEntry returns an entry with its time and the next number. If another process uses the number meanwhile, the batch
// of the entry is refused and made anew.
func (ed *editor) newEntry(e event.AuditEntry) event.AuditEntry {
	ed.entries++
	e.ID, e.At = ed.lastEntry+ed.entries, time.Now().UTC()
	return e
}

func (c *conn) newEntryMsg(e event.AuditEntry) *stream.Msg {
	m := c.entryMsg(e)
	m.Expect = stream.Expecting(0)
	return m
}

// entryMsg returns the message of an entry, in the place of an earlier one.
func (c *conn) entryMsg(e event.AuditEntry) *stream.Msg {
	data, _ := json.Marshal(e)
	return &stream.Msg{Subject: c.subject(auditToken, strconv.FormatInt(e.ID, 10)), Data: data, Only: true}
}

// growing is the one entry that a change in steps has in the audit.
type growing struct {
	in    *Inspection
	entry event.AuditEntry // as it is stored; its ID is 0 until it is
	draft event.AuditEntry
}

// begin begins a step.
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
func (in *Inspection) Audit(ctx context.Context, f event.AuditFilter, p event.Page) ([]event.AuditEntry, string, error) {
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
	found := slices.DeleteFunc(mapsValues(in.audit), func(e event.AuditEntry) bool {
		return f.Actor != "" && e.Actor != f.Actor || len(f.Actions) > 0 && !slices.Contains(f.Actions, e.Action) ||
			f.Subscription != "" && !in.sameName(f.Subscription, e.Subscription) || f.Event != uuid.Nil && !touched[e.ID] ||
			!view.Within(e.At, f.Since, f.Until)
	})
	return view.Page(p, found, 1, func(e event.AuditEntry) []int64 { return []int64{e.ID} }, false)
}

// auditOf returns what was done to the deliveries of an event, alone or together with others, oldest first: to one
// subscription, or to all for nil.
func (in *Inspection) auditOf(id uuid.UUID, only *sub) (entries []event.AuditEntry) {
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
	slices.SortFunc(entries, func(a, b event.AuditEntry) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Subscription, b.Subscription))
	})
	return entries
}

// sameName reports whether two names are of one subscription.
func (in *Inspection) sameName(a, b string) bool {
	return a == b || in.registry.known(a) != nil && in.registry.known(a) == in.registry.known(b)
}
