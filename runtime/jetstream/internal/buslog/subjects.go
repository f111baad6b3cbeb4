package buslog

import (
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// What the stream holds, by the first token behind its name. JETSTREAM has a table.
const (
	eventToken    = "e" // NAME.e.PP.TYPE: an event; PP is its slot, two hexadecimal digits; or NAME.e.made.ID
	registryToken = "n" // NAME.n: types, subscriptions, pauses
	cursorToken   = "c" // NAME.c.SUB and, of its parts, NAME.c.SUB.N: where a subscription stands, and who dispatches it
	memberToken   = "o" // NAME.o: the processes that share subscriptions
	rowToken      = "d" // NAME.d.SUB.SEQ: a delivery that did not simply go well
	keyToken      = "k" // NAME.k.HASH: an idempotency key
	auditToken    = "a" // NAME.a.ID: what somebody has done
	schemaToken   = "s" // NAME.s.HASH: the schema of a type's payload
	limitToken    = "l" // NAME.l: the time by which limits count; NAME.l.HH: what some of their rates have used
	timeToken     = "t" // NAME.t: where the schedules stand
	activityToken = "v" // NAME.v: what the dispatching processes show
	requestToken  = "q" // NAME.q: what operators ask of them
	askToken      = "r" // NAME.r.SUB.SEQ: somebody wishes to have a delivery cancelled
	arrivalToken  = "m" // NAME.m: how far a move from another engine has come; stays when it is done
	pruneToken    = "p" // NAME.p: which events were deleted; kept for a while
	calledToken   = "b" // NAME.b.INSTANCE: the suspects whose handlers a process has called; NAME.b.INSTANCE.note: see replaced.go
	historyToken  = "h" // NAME.h: how many were, and where
	inboxToken    = "i" // NAME.i: how far the messages of the inbox were taken in
)

// slots is how many kinds of events there are, by their partition key or id.
const slots = 64

// slotOf returns the slot of an event, from 0 on: that of its partition key, or of its id if
// its type has none. Events of one key have one slot, in whatever version of the type.
func slotOf(r *engine.Record) int { return slotFor(r.Key, r.Keyed, r.ID) }

func slotFor(key string, keyed bool, id uuid.UUID) int {
	h := uint32(2166136261) // FNV-1a
	if key != "" || keyed {
		for i := range len(key) {
			h = (h ^ uint32(key[i])) * 16777619
		}
	} else {
		for _, b := range id {
			h = (h ^ uint32(b)) * 16777619
		}
	}
	return int(h % slots)
}

func (c *conn) subject(tokens ...string) string {
	return c.stream.Name() + "." + strings.Join(tokens, ".")
}

func (c *conn) eventSubject(r *engine.Record) string {
	const digits = "0123456789abcdef"
	slot := slotOf(r)
	return c.stream.Name() + "." + eventToken + "." + digits[slot/16:slot/16+1] + digits[slot%16:slot%16+1] + "." + token(r.Type)
}

// cursorSubject returns the subject of a cursor: of the whole, or of a part.
func (c *conn) cursorSubject(sub string, at int) string {
	if at == whole {
		return c.subject(cursorToken, sub)
	}
	return c.subject(cursorToken, sub, strconv.Itoa(at))
}

// madeSubject returns the subject of an event that an operator has made. There is one of an
// id at most, and it is found by it.
func (c *conn) madeSubject(id uuid.UUID) string { return c.subject(eventToken, "made", id.String()) }

func (c *conn) rowSubject(sub string, seq int64) string {
	return c.subject(rowToken, sub, strconv.FormatInt(seq, 10))
}

// token makes a name fit into a subject. What it stands for is in the message.
func token(name string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r == '*' || r == '>' {
			return '_'
		}
		return r
	}, name)
}

// split returns the tokens of a subject behind the name of the stream.
func split(subject string) (kind string, rest string) {
	_, behind, _ := strings.Cut(subject, ".")
	kind, rest, _ = strings.Cut(behind, ".")
	return kind, rest
}
