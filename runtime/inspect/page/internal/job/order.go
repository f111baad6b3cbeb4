// Package job does what an operator orders for many dead letters at once. An [Order] says what to do with a [Part] of a
// group; it is kept in the notes of the audit alone. [Work] does orders in the background; a [Job] is an order with how
// far it is.
package job

import (
	"encoding/binary"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/internal/commandline"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/inspect/page/internal/refusal"
)

// Order is what a job has to do: retry or discard all dead letters of a group that had died
// when the operator looked. It is written into the note of the job's entries in the audit,
// in the transactions that change the letters: that is all that is kept of a job, and
// enough to go on with it after the process was killed.
type Order struct {
	ID     uuid.UUID // version 7: it says when the job was made
	Kind   string    // retry or discard
	Group  string
	Of     int       // how many letters matched
	Until  time.Time // letters that died later are not part of it, nor those that die again
	Limit  int       // 0 for none
	Canary int       // 0 for none
	Rate   float64   // per second; 0 for no limit
	Reason string    // of a discard
	Part   Part      // of the group; its Until is the one above
}

// The kinds of jobs, which are the actions of the audit.
const (
	Retry   = "retry"
	Discard = "discard"
)

// Wanted is how many letters are to be changed.
func (o Order) Wanted() int {
	if o.Limit > 0 {
		return min(o.Of, o.Limit)
	}
	return o.Of
}

// Done is the word for what happens to letters.
func (o Order) Done() string {
	if o.Kind == Discard {
		return "discarded"
	}
	return "retried"
}

// Href is where the job is shown.
func (o Order) Href() string { return "./job?id=" + o.ID.String() }

// NewID returns an id that says when the job was made.
func NewID(at time.Time) uuid.UUID {
	id := uuid.New()
	binary.BigEndian.PutUint64(id[:8], uint64(at.UnixMilli())<<16|uint64(id[6])<<8|uint64(id[7]))
	id[6] = 0x70 | id[6]&0x0f
	return id
}

// Started is when the job was made.
func (o Order) Started() time.Time {
	return time.UnixMilli(int64(binary.BigEndian.Uint64(o.ID[:8]) >> 16))
}

func (o Order) Filter() event.Filter {
	f := o.Part.Filter(o.Group)
	f.Until = o.Until
	return f
}

// selection chooses what is left of the job when so many letters were changed.
func (o Order) selection(moved int) inspect.Selection {
	s := inspect.Selection{Filter: o.Filter(), Rate: o.Rate, Note: o.note()}
	if o.Limit > 0 {
		s.Limit = max(1, o.Limit-moved)
	}
	if moved <= o.Canary { // nobody has seen all of them handled
		s.Canary = o.Canary
	}
	return s
}

// note is the order for the audit.
func (o Order) note() string {
	v := o.Part.Values()
	v.Set("group", o.Group)
	v.Set("of", strconv.Itoa(o.Of))
	v.Set("until", o.Until.UTC().Format(time.RFC3339Nano))
	if o.Limit > 0 {
		v.Set("limit", strconv.Itoa(o.Limit))
	}
	if o.Canary > 0 {
		v.Set("canary", strconv.Itoa(o.Canary))
	}
	if o.Rate > 0 {
		v.Set("rate", strconv.FormatFloat(o.Rate, 'g', -1, 64))
	}
	return "job " + o.ID.String() + " " + v.Encode()
}

// detail is the whole text of the audit for a job.
func (o Order) detail() string {
	text := o.Filter().String() + "; " + o.note()
	if o.Kind == Discard {
		return o.Reason + " (" + text + ")"
	}
	return text
}

var noted = regexp.MustCompile(`; job ([0-9a-f-]{36}) ([A-Za-z0-9%&=._~+-]*)\)?$`)

// OrderOf returns the order of which an entry of the audit is, if it is one.
func OrderOf(e event.AuditEntry) (o Order, ok bool) {
	found := noted.FindStringSubmatch(e.Detail)
	if found == nil || e.Action != Retry && e.Action != Discard {
		return o, false
	}
	id, err := ParseID(found[1])
	v, valuesErr := url.ParseQuery(found[2])
	if err != nil || valuesErr != nil {
		return o, false
	}
	o = Order{ID: id, Kind: e.Action, Group: v.Get("group")}
	o.Of, _ = strconv.Atoi(v.Get("of"))
	o.Limit, _ = strconv.Atoi(v.Get("limit"))
	o.Canary, _ = strconv.Atoi(v.Get("canary"))
	o.Rate, _ = strconv.ParseFloat(v.Get("rate"), 64)
	o.Until, _ = time.Parse(time.RFC3339Nano, v.Get("until"))
	v.Del("until")
	if o.Part, err = ReadPart(v.Get); err != nil {
		return o, false
	}
	if o.Kind == Discard {
		o.Reason = strings.TrimSuffix(e.Detail, o.detail()) // which is " (…)" without one
	}
	return o, o.Group != "" && !o.Until.IsZero() && o.Of > 0 && e.Detail == o.detail()
}

// Job is an order with how far it is.
type Job struct {
	Order
	Actor string    // who made it
	Begun time.Time // when it first changed a letter or, without one, when this process began with it
	Moved int       // letters that were changed, by the audit
	Dead  int       // letters that are dead, of those that matched
	Work  *Progress // nil if no job of this process
}

// Left is how many letters are still to be changed.
func (j Job) Left() int { return max(0, min(j.Dead, j.Wanted()-j.Moved)) }

// Ended tells whether nothing is left to be done.
func (j Job) Ended() bool { return j.Left() == 0 && !j.Doing() }

// Doing tells whether this process works at it.
func (j Job) Doing() bool { return j.Work != nil && j.Work.Doing }

// ParseID reads the id of a job.
func ParseID(text string) (uuid.UUID, error) {
	id, err := uuid.Parse(text)
	if err != nil || id.Version() != 7 {
		return id, refusal.BadRequest("This is not the id of a job.")
	}
	return id, nil
}

// CommandLine does by command what is left of the job.
func (o Order) CommandLine(target string, moved int) string {
	s := o.selection(moved)
	flags := []string{"--group", o.Group, "--until", o.Until.UTC().Format("2006-01-02T15:04:05.999999Z")}
	flags = append(flags, o.Part.flags()...)
	if s.Canary > 0 {
		flags = append(flags, "--canary", fmt.Sprint(s.Canary))
	}
	if s.Limit > 0 {
		flags = append(flags, "--limit", fmt.Sprint(s.Limit))
	}
	if s.Rate > 0 {
		flags = append(flags, "--rate", fmt.Sprint(s.Rate))
	}
	if o.Kind == Discard {
		flags = append(flags, "--because", o.Reason)
	}
	return commandline.Of("dlq "+o.Kind, flags, target)
}

// GentleRate is how many letters per second a job changes unless it is asked for another rate.
// Publishers keep at least nine tenths of their speed beside it. With 0 a job is as fast as it
// can be.
const GentleRate = 500

// Read reads what an operator can choose.
func (o *Order) Read(value func(string) string) error {
	o.Kind = value("kind")
	if o.Kind != Retry && o.Kind != Discard {
		return refusal.BadRequest("Choose whether to retry or to discard.")
	}
	if o.Kind == Discard && strings.TrimSpace(o.Reason) == "" {
		return refusal.BadRequest("Say why the dead letters need not be handled.")
	}
	for name, to := range map[string]*int{"limit": &o.Limit, "canary": &o.Canary} {
		if text := strings.TrimSpace(value(name)); text != "" {
			n, err := strconv.Atoi(text)
			if err != nil || n < 0 || n > 1e9 {
				return refusal.BadRequest(fmt.Sprintf("The %s is no number of dead letters.", name))
			}
			*to = n
		}
	}
	if o.Kind == Discard {
		o.Canary = 0
	}
	o.Rate = GentleRate
	if text := strings.TrimSpace(value("rate")); text != "" {
		rate, err := strconv.ParseFloat(text, 64)
		if err != nil || !(rate >= 0 && rate <= 1e9) {
			return refusal.BadRequest("The rate is no number of dead letters per second.")
		}
		o.Rate = rate
	}
	return nil
}
