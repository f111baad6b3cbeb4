package busfile

import (
	"errors"
	"strings"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/runtime/event"
)

// each does something with each event that the command line names, whatever the others say,
// and joins the reports and the errors. Of several exit statuses the result has trouble
// before no, and no before not found. What stops all of them, such as a file that cannot be
// read, is not tried again.
func (c *call) each(all []event.Key, do func(one event.Key) (text string, err error)) (string, error) {
	var report strings.Builder
	var refused []error
	status := 0
	for _, one := range all {
		text, err := do(one)
		report.WriteString(text)
		if err == nil {
			continue
		}
		if len(all) == 1 {
			return report.String(), err
		}
		err = classified(err)
		refused = append(refused, errors.New(err.Error())) // without its type, which asks for a status of its own
		if got := cli.StatusOf(err); status == 0 || got == cli.StatusTrouble || got == cli.StatusNo && status == cli.StatusNotFound {
			status = got
		}
		if _, unanswered := errors.AsType[*event.UnansweredError](err); status == cli.StatusTrouble && !unanswered || c.context().Err() != nil {
			break
		}
	}
	if len(refused) > 0 {
		return report.String(), cli.WithStatus(status, errors.Join(refused...))
	}
	return report.String(), nil
}
