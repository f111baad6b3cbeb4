package page

import (
	"github.com/busgen/busgen/internal/commandline"
	"github.com/busgen/busgen/internal/timetable"
)

var schedulesSheet = sheet{path: "schedules", title: "Schedules", live: true, template: "schedules", fill: fillSchedules}

// schedulesPage is the Data of the page "Schedules".
type schedulesPage struct {
	All []timetable.Line
	CLI string
}

// timesShown is how many of the next times of a schedule are shown.
const timesShown = 3

func fillSchedules(q *request) (any, error) {
	target, err := q.target()
	if err != nil {
		return nil, err
	}
	stored, err := q.file().Schedules(q.Context())
	if err != nil {
		return nil, err
	}
	all, err := timetable.OfFile(stored, q.now, timesShown)
	return &schedulesPage{all, commandline.Of("schedules list", nil, target)}, err
}
