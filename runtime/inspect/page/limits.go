package page

import (
	"github.com/busgen/busgen/internal/commandline"
	"github.com/busgen/busgen/internal/standing"
)

var limitsSheet = sheet{path: "limits", title: "Limits", live: true, template: "limits", fill: fillLimits}

// limitsPage is the Data of the page "Limits".
type limitsPage struct {
	Waitlists []standing.Waitlist
	CLI       string
}

func fillLimits(q *request) (any, error) {
	target, err := q.target()
	if err != nil {
		return nil, err
	}
	waitlists, err := q.file().Waitlists(q.Context())
	if err != nil {
		return nil, err
	}
	running, err := q.file().Running(q.Context())
	return &limitsPage{standing.Waitlists(waitlists, running), commandline.Of("limits list", nil, target)}, err
}
