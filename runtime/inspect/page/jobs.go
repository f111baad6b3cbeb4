package page

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/inspect/page/internal/job"
	"github.com/busgen/busgen/runtime/inspect/page/internal/refusal"
	"github.com/busgen/busgen/runtime/inspect/page/internal/texts"
)

var jobsSheet = sheet{path: "jobs", title: "Jobs", live: true, template: "jobs", fill: fillJobs}

// jobsPage is the Data of the page "Jobs": those of the last days, the newest first, also those that are done.
type jobsPage struct {
	All  []job.Job
	More int // that are not shown
}

// jobsOnPage is how many jobs the page has.
const jobsOnPage = 100

func fillJobs(q *request) (any, error) {
	all, err := q.jobs(func(job.Job) bool { return true })
	shown := min(len(all), jobsOnPage)
	return &jobsPage{all[:shown], len(all) - shown}, err
}

var jobSheet = sheet{path: "job", title: "Job", live: true, template: "job", fill: fillJob}

// jobPage is the Data of the page of a job. It shows the same after a reload, in another
// browser and after the process was killed: the audit has the progress.
type jobPage struct {
	job.Job
	Why    texts.Long // of a discard
	Error  texts.Long // with which it has ended in this process
	Resume button     // what is left
	Stop   button
}

func fillJob(q *request) (any, error) {
	j, err := q.job(q.FormValue("id"))
	if err != nil {
		return nil, err
	}
	target, err := q.target()
	if err != nil {
		return nil, err
	}
	data := jobPage{Job: j, Why: texts.Cut(j.Reason, "job", "id", j.ID.String())}
	if j.Work != nil {
		data.Error = texts.Long{Text: j.Work.Err[:min(len(j.Work.Err), texts.MostBytes)]}
	}
	id := []field{sealedField("id", j.ID.String())}
	data.Resume = button{Action: "resume-job", Label: "Resume", Of: "the job", Fields: id, CLI: j.CommandLine(target, j.Moved)}
	data.Stop = button{Action: "stop-job", Label: "Stop", Of: "the job", Fields: id, CLI: "Ctrl-C"}
	return data, nil
}

// jobText is the reason of a job.
func jobText(q *request) (string, error) {
	j, err := q.job(q.FormValue("id"))
	return j.Reason, err
}

// resumeJobAction goes on with a job.
func resumeJobAction(q *request, _ *inspect.File) (done, next string, err error) {
	id, err := q.name("id")
	if err != nil {
		return "", "", err
	}
	j, err := q.job(id)
	switch {
	case err != nil:
		return "", "", err
	case j.Ended():
		return "", "", refusal.New(409, "Nothing is left of this job. Nothing was changed.")
	}
	if err := q.page.work.GoOn(q.page.closing, q.page.file, j.Order, q.actor, j.Moved); err != nil {
		return "", "", err
	}
	return "The job goes on.", j.Href(), nil
}

// stopJobAction stops a job. What is done stays done.
func stopJobAction(q *request, _ *inspect.File) (done, next string, err error) {
	id, err := q.name("id")
	if err != nil {
		return "", "", err
	}
	j, err := q.job(id)
	switch {
	case err != nil:
		return "", "", err
	case !q.page.work.Halt(j.ID):
		return "", "", refusal.New(409, "This process does not work at the job. Nothing was changed.")
	}
	return "The job stops. What is done stays done, and the rest can be resumed.", j.Href(), nil
}

// jobs returns the jobs of the last days that a function wants, the newest first.
func (q *request) jobs(want func(job.Job) bool) ([]job.Job, error) {
	all, err := q.jobsSince(q.now.Add(-jobsShown))
	return slices.DeleteFunc(all, func(j job.Job) bool { return !want(j) }), err
}

const (
	// jobsShown is for how texts.Long jobs are shown on other pages than their own.
	jobsShown = 3 * 24 * time.Hour
	// jobsRead is how many entries of the audit are looked at for jobs.
	jobsRead = 1000
)

// jobsSince returns the jobs whose work was begun since, as the audit has them, and those
// that have not yet changed a letter.
func (q *request) jobsSince(since time.Time) ([]job.Job, error) {
	known, err := q.noted(since)
	if err != nil {
		return nil, err
	}
	q.page.work.AddTo(known)
	if err := q.count(known, since); err != nil {
		return nil, err
	}
	var all []job.Job
	for _, j := range known {
		all = append(all, *j)
	}
	slices.SortFunc(all, func(a, b job.Job) int { return strings.Compare(b.ID.String(), a.ID.String()) })
	return all, nil
}

// noted returns the jobs that the audit has since a time.
func (q *request) noted(since time.Time) (map[uuid.UUID]*job.Job, error) {
	entries, _, err := q.file().Audit(q.Context(), event.AuditFilter{Actions: []string{job.Retry, job.Discard}, Since: since}, event.Page{Limit: jobsRead})
	known := map[uuid.UUID]*job.Job{}
	for _, e := range entries {
		o, ok := job.OrderOf(e)
		if !ok {
			continue
		}
		if known[o.ID] == nil {
			known[o.ID] = &job.Job{Order: o}
		}
		known[o.ID].Moved += e.Count
		known[o.ID].Actor, known[o.ID].Begun = e.Actor, e.At // in the end those of the first entry
	}
	return known, err
}

// count counts the letters of jobs that are dead. The jobs may go on meanwhile, so it reads
// from the audit afterwards how far they are: a job of which no letter is left is not said
// to have changed fewer than it has.
func (q *request) count(known map[uuid.UUID]*job.Job, since time.Time) (err error) {
	counted := false
	for _, j := range known {
		if j.Moved >= j.Wanted() {
			continue
		}
		if j.Dead, err = q.file().CountDeadLetters(q.Context(), j.Filter()); err != nil {
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

// job returns one job, or a *NotFoundError.
func (q *request) job(id string) (job.Job, error) {
	parsed, err := job.ParseID(id)
	if err != nil {
		return job.Job{}, err
	}
	all, err := q.jobsSince(job.Order{ID: parsed}.Started().Add(-time.Minute))
	if err != nil {
		return job.Job{}, err
	}
	for _, j := range all {
		if j.ID == parsed {
			return j, nil
		}
	}
	return job.Job{}, refusal.New(404, fmt.Sprintf("There is no job %s. A job that has changed no dead letter leaves no trace when its process ends.", parsed))
}
