package page

import (
	"fmt"

	"github.com/busgen/busgen/internal/commandline"
	"github.com/busgen/busgen/runtime/inspect"
)

var jobSheet = sheet{path: "job", title: "Job", live: true, template: "job", fill: fillJob}

// jobPage is the Data of the page of a job. It shows the same after a reload, in another
// browser and after the process was killed: the audit has the progress.
type jobPage struct {
	job
	Why    long   // of a discard
	Error  long   // with which it has ended in this process
	Resume button // what is left
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
	data := jobPage{job: j, Why: cut(j.Reason, "job", "id", j.ID.String())}
	if j.Work != nil {
		data.Error = long{Text: j.Work.Err[:min(len(j.Work.Err), mostBytes)]}
	}
	id := []field{sealedField("id", j.ID.String())}
	data.Resume = button{Action: "resume-job", Label: "Resume", Of: "the job", Fields: id, CLI: j.commandLine(target, j.Moved)}
	data.Stop = button{Action: "stop-job", Label: "Stop", Of: "the job", Fields: id, CLI: "Ctrl-C"}
	return data, nil
}

// jobText is the reason of a job.
func jobText(q *request) (string, error) {
	j, err := q.job(q.FormValue("id"))
	return j.Reason, err
}

// commandLine does by command what is left of the job.
func (o order) commandLine(target string, moved int) string {
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
	if o.Kind == kindDiscard {
		flags = append(flags, "--because", o.Reason)
	}
	return commandline.Of("dlq "+o.Kind, flags, target)
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
		return "", "", refusal{409, "Nothing is left of this job. Nothing was changed."}
	}
	if err := q.page.goOn(j.order, q.actor, j.Moved); err != nil {
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
	case !q.page.work.halt(j.ID):
		return "", "", refusal{409, "This process does not work at the job. Nothing was changed."}
	}
	return "The job stops. What is done stays done, and the rest can be resumed.", j.Href(), nil
}
