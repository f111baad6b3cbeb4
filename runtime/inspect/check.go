package inspect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// Report lists the findings of [File.Check]. "busgen check-db --json" prints it.
type Report struct {
	Problems    []event.Problem `json:"problems"`    // of the file itself
	Undecodable []Undecodable   `json:"undecodable"` // payloads, by type
	Open        int             `json:"open"`        // deliveries that wait, run or are on their way
	Dead        int             `json:"dead"`        // dead letters
}

// OK reports whether nothing is wrong.
func (r Report) OK() bool { return len(r.Problems) == 0 && len(r.Undecodable) == 0 }

// Undecodable counts the payloads of one type that a check has refused.
type Undecodable struct {
	Type    string   `json:"type"`
	Open    int      `json:"open"` // deliveries that will fail
	Dead    int      `json:"dead"` // dead letters that would fail again
	Samples []Sample `json:"samples"`
}

// Sample is a payload that was refused.
type Sample struct {
	ID    uuid.UUID `json:"id"`
	Error string    `json:"error"`
}

// undecodableSamples is how many samples are kept for a type.
const undecodableSamples = 3

// IsJSON is the check that [File.Check] makes without another one.
func IsJSON(e event.Unsettled) error {
	if !json.Valid(e.Payload) {
		return errors.New("the payload is not JSON")
	}
	return nil
}

// Check reads the whole file and reports what is wrong with it. It calls check with each
// event that is open or dead; check returns an error if a handler could not decode the
// payload, and must not call methods of f. Nil stands for [IsJSON].
//
// A file that is [File.Hiding] hides sensitive values in the errors of samples.
//
// It changes nothing and holds up no publisher, but the write-ahead log beside the file
// cannot shrink while it runs.
func (f *File) Check(ctx context.Context, check func(event.Unsettled) error) (Report, error) {
	if check == nil {
		check = IsJSON
	}
	report := Report{Problems: []event.Problem{}, Undecodable: []Undecodable{}}
	problems, err := f.log.Check(ctx)
	report.Problems = append(report.Problems, problems...)
	if err != nil || slices.ContainsFunc(problems, func(p event.Problem) bool { return p.Rule == engine.RuleIntegrity }) {
		return report, err // what a damaged file says is no use
	}
	var found []event.Unsettled // of the samples, whose errors may quote values
	err = f.stored().Unsettled(ctx, func(e event.Unsettled) {
		problem := e.Unreadable
		if problem == nil {
			problem = check(e)
		}
		if report.add(e, problem) {
			e.Payload = bytes.Clone(e.Payload) // it is on loan
			found = append(found, e)
		}
	})
	if v, hides := f.log.(*veiled); hides && err == nil {
		err = v.report(ctx, &report, found)
	}
	return report, err
}

// add counts an event that is not settled, and what is wrong with it. It reports whether the
// event is a sample.
func (r *Report) add(e event.Unsettled, problem error) bool {
	r.Open += e.Open
	r.Dead += e.Dead
	if problem == nil {
		return false
	}
	one := r.of(e.Type)
	one.Open += e.Open
	one.Dead += e.Dead
	if len(one.Samples) == undecodableSamples {
		return false
	}
	one.Samples = append(one.Samples, Sample{ID: e.ID, Error: problem.Error()})
	return true
}

func (r *Report) of(eventType string) *Undecodable {
	for i := range r.Undecodable {
		if r.Undecodable[i].Type == eventType {
			return &r.Undecodable[i]
		}
	}
	r.Undecodable = append(r.Undecodable, Undecodable{Type: eventType})
	return &r.Undecodable[len(r.Undecodable)-1]
}
