package breaking

import (
	"fmt"
	"slices"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
)

// event compares an event with the event that has its name now, or has it as an alias.
func (c *comparison) event(old *catalog.Event) {
	c.current, c.seen = c.is[old.Name.V], map[pair]diag.Direction{}
	if c.current == nil {
		c.report(draft{rule: eventRemoved, direction: diag.Backward, at: c.after.Package.Pos, was: old.Name.Pos, subject: old.Name.V,
			key: old.Name.V, message: "event " + old.Name.V + " is gone", hint: c.successor(old)})
		return
	}
	for _, alias := range old.Aliases {
		c.alias(old, alias)
	}
	c.versions(old)
	c.partition(old)
	c.dedupe(old)
	c.await(old)
	c.expiry(old.Settings, c.current.Settings)
}

// successor advises what to do about an event that is gone, and names new events with the same payload,
// because it may have been renamed.
func (c *comparison) successor(old *catalog.Event) string {
	name := "its new name"
	for _, e := range c.after.Events {
		switch {
		case c.was[e.Name.V] != nil:
		case e.Label() == old.Label():
			return "to keep its name on the wire, write wire: " + old.Name.V + " in event " + e.Label() + "; if it was renamed, add aliases: [" + old.Name.V + "] to it"
		case len(e.Fields) > 0 && sameShape(e.Fields, old.Fields):
			name = e.Label()
		}
	}
	return "if it was renamed, add aliases: [" + old.Name.V + "] to " + name + "; if not, check with --db that no row of it is left"
}

// alias compares the use of a former name of an event.
func (c *comparison) alias(old *catalog.Event, alias catalog.Value[string]) {
	switch now := c.is[alias.V]; now {
	case c.current:
	case nil:
		c.report(draft{rule: aliasRemoved, direction: diag.Backward, at: c.current.Name.Pos, was: alias.Pos, subject: c.current.Name.V,
			key: c.current.Name.V + " " + alias.V, message: "alias " + alias.V + " of event " + c.current.Name.V + " is gone", hint: "keep it until --db finds no row of it"})
	default:
		c.report(draft{rule: aliasMoved, direction: diag.Backward, at: now.Name.Pos, was: alias.Pos, subject: now.Name.V,
			key: now.Name.V + " " + alias.V, message: fmt.Sprintf("%s was a name of event %s and is now a name of event %s", alias.V, c.current.Name.V, now.Name.V),
			hint: "rows with that name belong to the former event: keep the alias there"})
	}
}

// versions compares the payloads of an event, version by version.
func (c *comparison) versions(old *catalog.Event) {
	now := c.current
	for v := 1; v <= old.Version.V; v++ {
		if before, read := old.FieldsOf(v); read {
			c.storedVersion(old, v, before)
		}
	}
	switch {
	case now.Version.V > old.Version.V:
		c.report(draft{rule: versionRaised, direction: diag.Forward, at: now.Version.Pos, was: placeOfVersion(old), subject: now.Name.V,
			key: fmt.Sprintf("%s %d->%d", now.Name.V, old.Version.V, now.Version.V), message: fmt.Sprintf("event %s is version %d and was %d", now.Name.V, now.Version.V, old.Version.V),
			hint: "deploy to all programs before you rely on it: until then, and after a rollback, old programs " + heldBy(now)})
	case now.Version.V < old.Version.V:
		c.report(draft{rule: versionLowered, direction: diag.Backward, at: placeOfVersion(now), was: old.Version.Pos, subject: now.Name.V,
			key: fmt.Sprintf("%s %d->%d", now.Name.V, old.Version.V, now.Version.V), message: fmt.Sprintf("event %s is version %d and was %d", now.Name.V, now.Version.V, old.Version.V),
			hint: fmt.Sprintf("stored events of version %d have no upcast to version %d, so this catalogue cannot be rolled back to: its programs %s; "+
				"give the new payload version %d", old.Version.V, now.Version.V, heldBy(now), old.Version.V+1)})
	}
}

// heldBy says what programs do with events of a newer version, by the settings of today's catalogue: a record has none.
func heldBy(e *catalog.Event) string {
	if e.Settings.HoldUnknown.V == 0 {
		return "make dead letters of its events at once (hold_unknown is off)"
	}
	return fmt.Sprintf("hold its events for %s (hold_unknown), and then make dead letters of them", catalog.Short(e.Settings.HoldUnknown.V))
}

func placeOfVersion(e *catalog.Event) diag.Position {
	if e.Version.Written() {
		return e.Version.Pos
	}
	return e.Name.Pos
}

// storedVersion reports what the change does to stored events of one version.
func (c *comparison) storedVersion(old *catalog.Event, v int, before []*catalog.Field) {
	now := c.current
	after, read := now.FieldsOf(v)
	switch {
	case v > now.Version.V: // version-lowered reports all of them
	case !read:
		c.report(draft{rule: historyDropped, direction: diag.Backward, at: now.Version.Pos, was: placeOfShape(old, v), subject: now.Name.V,
			key: versionKey(now, v), message: fmt.Sprintf("version %d of event %s is dropped", v, now.Name.V), hint: "check with --db that no row of it is left"})
	case v == now.Version.V:
		c.fields(part{what: "event " + now.Name.V, key: versionKey(now, v)}, presentFields(old, v, before), newFieldSet(after, now.Reserved), diag.Both, now.Name.Pos)
	default:
		c.oldPayload(old, v, before, after)
	}
}

// oldPayload compares the payload of an old version with the one in the history.
func (c *comparison) oldPayload(old *catalog.Event, v int, before, after []*catalog.Field) {
	what, at := fmt.Sprintf("version %d of event %s", v, c.current.Name.V), placeOfShape(c.current, v)
	c.seen, c.breaks = map[pair]diag.Direction{}, false
	c.fields(part{what: what, key: versionKey(c.current, v), history: true}, newFieldSet(before, nil), newFieldSet(after, nil), diag.Backward, at)
	if !c.breaks && loses(before, after, map[pair]bool{}) {
		c.report(draft{rule: historyEdited, direction: diag.Backward, at: at, was: placeOfShape(old, v), subject: c.current.Name.V,
			key: versionKey(c.current, v), message: what + " has lost a part of its payload", hint: "history describes stored events: leave it as it was"})
	}
}

// removedVersions compares versions that were removed and are back with stored events of them.
func (c *comparison) removedVersions(old *catalog.Event) {
	now := c.is[old.Name.V]
	if now == nil {
		return
	}
	c.current, c.seen = now, map[pair]diag.Direction{}
	newest := 0
	for _, shape := range old.History {
		v := shape.Version.V
		newest = max(newest, v)
		if after, read := now.FieldsOf(v); read {
			what, at := fmt.Sprintf("version %d of event %s", v, now.Name.V), placeOfShape(now, v)
			c.fields(part{what: what, key: versionKey(now, v), history: v < now.Version.V}, newFieldSet(shape.Type.Fields, nil), newFieldSet(after, nil), diag.Backward, at)
		}
	}
	if c.was[old.Name.V] == nil && newest > now.Version.V {
		c.report(draft{rule: versionLowered, direction: diag.Backward, at: placeOfVersion(now), was: old.Name.Pos, subject: now.Name.V,
			key: fmt.Sprintf("%s %d->%d", now.Name.V, newest, now.Version.V), message: fmt.Sprintf("event %s is version %d, and was %d before it was removed", now.Name.V, now.Version.V, newest),
			hint: fmt.Sprintf("give the new payload version %d", newest+1)})
	}
}

// presentFields returns the fields of a version of an event, with reserved names for the present version.
func presentFields(e *catalog.Event, v int, fields []*catalog.Field) fieldSet {
	if v != e.Version.V {
		return newFieldSet(fields, nil)
	}
	return newFieldSet(fields, e.Reserved)
}

// versionKey returns the name of a payload in keys of findings.
func versionKey(e *catalog.Event, v int) string { return fmt.Sprintf("%s %d", e.Name.V, v) }

// placeOfShape returns the position where a version of an event is declared.
func placeOfShape(e *catalog.Event, v int) diag.Position {
	for _, shape := range e.History {
		if shape.Version.V == v {
			return shape.Version.Pos
		}
	}
	return e.Name.Pos
}

// newEvents reports new events, which old programs receive if they subscribe to patterns.
func (c *comparison) newEvents() {
	for _, e := range c.after.Events {
		known := c.was[e.Name.V] != nil
		for _, alias := range e.Aliases {
			known = known || c.was[alias.V] != nil
		}
		if !known {
			c.current = e
			c.report(draft{rule: eventAdded, direction: diag.Forward, at: e.Name.Pos, subject: e.Name.V, key: e.Name.V, message: "event " + e.Name.V + " is new"})
		}
	}
}

func (c *comparison) partition(old *catalog.Event) {
	before, after := keyField(old.PartitionBy), keyField(c.current.PartitionBy)
	if before == after || before != "" && after != "" && slices.Contains(keysOf(c.current.PartitionBy), before) {
		return
	}
	at, was := c.current.Name.Pos, old.Name.Pos
	if c.current.PartitionBy != nil {
		at = c.current.PartitionBy.Name.Pos
	}
	if old.PartitionBy != nil {
		was = old.PartitionBy.Name.Pos
	}
	c.report(draft{rule: partitionChanged, direction: diag.Backward, at: at, was: was, subject: c.current.Name.V,
		key: fmt.Sprintf("%s %s->%s", c.current.Name.V, orNothing(before), orNothing(after)), message: fmt.Sprintf("events %s are ordered by %s, and were ordered by %s", c.current.Name.V, orNothing(after), orNothing(before))})
}

// dedupe reports that the events of a type have another dedupe key, or none any more. A new
// one takes nothing away from the events that were published without.
func (c *comparison) dedupe(old *catalog.Event) {
	before, after := keyField(old.DedupeBy), keyField(c.current.DedupeBy)
	if before == "" || before == after || after != "" && slices.Contains(keysOf(c.current.DedupeBy), before) {
		return
	}
	at := c.current.Name.Pos
	if c.current.DedupeBy != nil {
		at = c.current.DedupeBy.Name.Pos
	}
	c.report(draft{rule: dedupeChanged, direction: diag.Backward, at: at, was: old.DedupeBy.Name.Pos, subject: c.current.Name.V,
		key: fmt.Sprintf("%s %s->%s", c.current.Name.V, before, orNothing(after)), message: fmt.Sprintf("the dedupe key of events %s is %s, and was %s", c.current.Name.V, orNothing(after), before)})
}

// await reports that handlers wait for the events of a type by another key, or cannot wait for them any more. A new key is
// none that a handler waits for.
func (c *comparison) await(old *catalog.Event) {
	before, after := keyField(old.AwaitBy), keyField(c.current.AwaitBy)
	if before == "" || before == after || after != "" && slices.Contains(keysOf(c.current.AwaitBy), before) {
		return
	}
	at := c.current.Name.Pos
	if c.current.AwaitBy != nil {
		at = c.current.AwaitBy.Name.Pos
	}
	c.report(draft{rule: awaitChanged, direction: diag.Backward, at: at, was: old.AwaitBy.Name.Pos, subject: c.current.Name.V,
		key:     fmt.Sprintf("%s %s->%s", c.current.Name.V, before, orNothing(after)),
		message: fmt.Sprintf("events %s are awaited by %s, and were awaited by %s: flows that wait for it never wake", c.current.Name.V, orNothing(after), before),
		hint:    "keep await_by until no delivery waits for the event; if the field was renamed, give it was: " + before})
}

// keyField returns the name of a field, or "" for none.
func keyField(f *catalog.Field) string {
	if f == nil {
		return ""
	}
	return f.Name.V
}

func orNothing(name string) string {
	if name == "" {
		return "nothing"
	}
	return name
}
