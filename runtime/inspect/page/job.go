package page

import (
	"encoding/binary"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
)

// order is what a job has to do: retry or discard all dead letters of a group that had died
// when the operator looked. It is written into the note of the job's entries in the audit,
// in the transactions that change the letters: that is all that is kept of a job, and
// enough to go on with it after the process was killed.
type order struct {
	ID     uuid.UUID // version 7: it says when the job was made
	Kind   string    // retry or discard
	Group  string
	Of     int       // how many letters matched
	Until  time.Time // letters that died later are not part of it, nor those that die again
	Limit  int       // 0 for none
	Canary int       // 0 for none
	Rate   float64   // per second; 0 for no limit
	Reason string    // of a discard
	Part   part      // of the group; its Until is the one above
}

// The kinds of jobs, which are the actions of the audit.
const (
	kindRetry   = "retry"
	kindDiscard = "discard"
)

// Wanted is how many letters are to be changed.
func (o order) Wanted() int {
	if o.Limit > 0 {
		return min(o.Of, o.Limit)
	}
	return o.Of
}

// Done is the word for what happens to letters.
func (o order) Done() string {
	if o.Kind == kindDiscard {
		return "discarded"
	}
	return "retried"
}

// Href is where the job is shown.
func (o order) Href() string { return "./job?id=" + o.ID.String() }

// GroupHref is where its group is shown.
func (o order) GroupHref() string { return groupHref(o.Group) }

// newJobID returns an id that says when the job was made.
func newJobID(at time.Time) uuid.UUID {
	id := uuid.New()
	binary.BigEndian.PutUint64(id[:8], uint64(at.UnixMilli())<<16|uint64(id[6])<<8|uint64(id[7]))
	id[6] = 0x70 | id[6]&0x0f
	return id
}

// Started is when the job was made.
func (o order) Started() time.Time {
	return time.UnixMilli(int64(binary.BigEndian.Uint64(o.ID[:8]) >> 16))
}

func (o order) filter() event.Filter {
	f := o.Part.filter(o.Group)
	f.Until = o.Until
	return f
}

// selection chooses what is left of the job when so many letters were changed.
func (o order) selection(moved int) inspect.Selection {
	s := inspect.Selection{Filter: o.filter(), Rate: o.Rate, Note: o.note()}
	if o.Limit > 0 {
		s.Limit = max(1, o.Limit-moved)
	}
	if moved <= o.Canary { // nobody has seen all of them handled
		s.Canary = o.Canary
	}
	return s
}

// note is the order for the audit.
func (o order) note() string {
	v := o.Part.values()
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
func (o order) detail() string {
	text := o.filter().String() + "; " + o.note()
	if o.Kind == kindDiscard {
		return o.Reason + " (" + text + ")"
	}
	return text
}

var noted = regexp.MustCompile(`; job ([0-9a-f-]{36}) ([A-Za-z0-9%&=._~+-]*)\)?$`)

// orderOf returns the order of which an entry of the audit is, if it is one.
func orderOf(e event.AuditEntry) (o order, ok bool) {
	found := noted.FindStringSubmatch(e.Detail)
	if found == nil || e.Action != kindRetry && e.Action != kindDiscard {
		return o, false
	}
	id, err := jobID(found[1])
	v, valuesErr := url.ParseQuery(found[2])
	if err != nil || valuesErr != nil {
		return o, false
	}
	o = order{ID: id, Kind: e.Action, Group: v.Get("group")}
	o.Of, _ = strconv.Atoi(v.Get("of"))
	o.Limit, _ = strconv.Atoi(v.Get("limit"))
	o.Canary, _ = strconv.Atoi(v.Get("canary"))
	o.Rate, _ = strconv.ParseFloat(v.Get("rate"), 64)
	o.Until, _ = time.Parse(time.RFC3339Nano, v.Get("until"))
	v.Del("until")
	if o.Part, err = readPart(v.Get); err != nil {
		return o, false
	}
	if o.Kind == kindDiscard {
		o.Reason = strings.TrimSuffix(e.Detail, o.detail()) // which is " (…)" without one
	}
	return o, o.Group != "" && !o.Until.IsZero() && o.Of > 0 && e.Detail == o.detail()
}

// job is an order with how far it is.
type job struct {
	order
	Actor string    // who made it
	Begun time.Time // when it first changed a letter or, without one, when this process began with it
	Moved int       // letters that were changed, by the audit
	Dead  int       // letters that are dead, of those that matched
	Work  *progress // nil if no job of this process
}

// Left is how many letters are still to be changed.
func (j job) Left() int { return max(0, min(j.Dead, j.Wanted()-j.Moved)) }

// Ended tells whether nothing is left to be done.
func (j job) Ended() bool { return j.Left() == 0 && !j.Doing() }

// Doing tells whether this process works at it.
func (j job) Doing() bool { return j.Work != nil && j.Work.Doing }

// jobs returns the jobs of the last days that a function wants, the newest first.
func (q *request) jobs(want func(job) bool) ([]job, error) {
	all, err := q.jobsSince(q.now.Add(-jobsShown))
	return slices.DeleteFunc(all, func(j job) bool { return !want(j) }), err
}

const (
	// jobsShown is for how long jobs are shown on other pages than their own.
	jobsShown = 3 * 24 * time.Hour
	// jobsRead is how many entries of the audit are looked at for jobs.
	jobsRead = 1000
)

// jobsSince returns the jobs whose work was begun since, as the audit has them, and those
// that have not yet changed a letter.
func (q *request) jobsSince(since time.Time) ([]job, error) {
	known, err := q.noted(since)
	if err != nil {
		return nil, err
	}
	q.page.work.addTo(known)
	if err := q.count(known, since); err != nil {
		return nil, err
	}
	var all []job
	for _, j := range known {
		all = append(all, *j)
	}
	slices.SortFunc(all, func(a, b job) int { return strings.Compare(b.ID.String(), a.ID.String()) })
	return all, nil
}

// noted returns the jobs that the audit has since a time.
func (q *request) noted(since time.Time) (map[uuid.UUID]*job, error) {
	entries, _, err := q.file().Audit(q.Context(), event.AuditFilter{Actions: []string{kindRetry, kindDiscard}, Since: since}, event.Page{Limit: jobsRead})
	known := map[uuid.UUID]*job{}
	for _, e := range entries {
		o, ok := orderOf(e)
		if !ok {
			continue
		}
		if known[o.ID] == nil {
			known[o.ID] = &job{order: o}
		}
		known[o.ID].Moved += e.Count
		known[o.ID].Actor, known[o.ID].Begun = e.Actor, e.At // in the end those of the first entry
	}
	return known, err
}

// count counts the letters of jobs that are dead. The jobs may go on meanwhile, so it reads
// from the audit afterwards how far they are: a job of which no letter is left is not said
// to have changed fewer than it has.
func (q *request) count(known map[uuid.UUID]*job, since time.Time) (err error) {
	counted := false
	for _, j := range known {
		if j.Moved >= j.Wanted() {
			continue
		}
		if j.Dead, err = q.file().CountDeadLetters(q.Context(), j.filter()); err != nil {
			return err
		}
		counted = true
	}
	if !counted {
		return nil
	}
	now, err := q.noted(since)
	for id, j := range now {
		if known[id] != nil {
			known[id].Moved = j.Moved
		}
	}
	return err
}

// jobID reads the id of a job.
func jobID(text string) (uuid.UUID, error) {
	id, err := uuid.Parse(text)
	if err != nil || id.Version() != 7 {
		return id, badRequest("This is not the id of a job.")
	}
	return id, nil
}

// job returns one job, or a *NotFoundError.
func (q *request) job(id string) (job, error) {
	parsed, err := jobID(id)
	if err != nil {
		return job{}, err
	}
	all, err := q.jobsSince(order{ID: parsed}.Started().Add(-time.Minute))
	if err != nil {
		return job{}, err
	}
	for _, j := range all {
		if j.ID == parsed {
			return j, nil
		}
	}
	return job{}, refusal{404, fmt.Sprintf("There is no job %s. A job that has changed no dead letter leaves no trace when its process ends.", parsed)}
}
