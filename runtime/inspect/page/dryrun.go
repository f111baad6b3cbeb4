package page

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/busgen/busgen/internal/beforehand"
	"github.com/busgen/busgen/internal/commandline"
	"github.com/busgen/busgen/internal/words"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
)

// The sheets of buttons that change much at once: each says what would happen, and has the button that does it.
var (
	rewindPlanSheet = sheet{path: "plan-rewind", title: "Dry run", template: "dryrun", fill: fillRewindPlan}
	pausePlanSheet  = sheet{path: "plan-pause", title: "Dry run", template: "dryrun", fill: fillPausePlan}
)

// dryRun is the Data of a page that says what a button would do. Nothing is changed by looking at it.
type dryRun struct {
	Title, Lead string
	Facts       []field // in words
	Do          string  // what the button says; empty if there is nothing to do
	Action      string
	Fields      []field // sealed
	CLI         string
}

// mostRewound is how many events a page rewinds: the browser waits for it.
const mostRewound = 10_000

// rewind is what a form asks for: a subscription, and where to.
type rewind struct {
	name string
	to   event.To
	text string // how the form says where to
}

// rewindOf reads a form: "to" is as somebody has typed it, and "place" is what a dry run has sealed.
func (q *request) rewindOf(file *inspect.File, value func(string) string) (r rewind, err error) {
	if r.name, err = opened(value("subscription")); err != nil {
		return r, err
	}
	if r.text, err = opened(value("place")); err != nil {
		return r, err
	}
	if r.text == "" {
		r.text = strings.TrimSpace(value("to"))
	}
	if err := beforehand.Subscriptions(q.Context(), file, []string{r.name}); err != nil {
		return r, refused(err)
	}
	r.to, err = beforehand.PlaceIn(q.Context(), file, r.text, timeOf)
	return r, refused(err)
}

// refused is the error of what somebody has asked for and cannot have.
func refused(err error) error {
	if _, unknown := errors.AsType[*beforehand.UnknownError](err); unknown {
		return refusal{http.StatusNotFound, sentence(err.Error()) + " Nothing was changed."}
	}
	if err != nil && statusOf(err) == http.StatusInternalServerError {
		return badRequest(sentence(err.Error()) + " Nothing was changed.")
	}
	return err
}

func fillRewindPlan(q *request) (any, error) {
	r, err := q.rewindOf(q.file(), q.FormValue)
	if err != nil {
		return nil, err
	}
	counts, err := q.file().Rewind(q.Context(), r.name, r.to, inspect.Selection{DryRun: true})
	if err != nil {
		return nil, err
	}
	target, err := q.target()
	if err != nil {
		return nil, err
	}
	d := &dryRun{
		Title: "Rewind " + r.name, Action: "rewind", Fields: []field{sealedField("subscription", r.name), sealedField("place", r.text)},
		CLI: commandline.Of("subscriptions rewind", []string{"--to", r.text}, target, r.name),
	}
	switch n := counts.Matched; {
	case n == 0:
		d.Lead = sentence(beforehand.NothingToRewind(r.name, r.to))
	case n > mostRewound:
		d.Lead = tooManyToRewind(n)
	default:
		d.Lead, d.Do = beforehand.RewindQuestion(r.name, r.to, n)+" Nothing is changed yet.", fmt.Sprintf("Handle %s again", words.Counted(n, "event"))
	}
	return d, nil
}

func tooManyToRewind(n int) string {
	return "These are " + words.Number(n) + " events, more than the page rewinds at once: use the command, with --rate. Nothing was changed."
}

// rewindAction delivers again what a subscription has handled since a place in the log.
func rewindAction(q *request, as *inspect.File) (done, next string, err error) {
	r, err := q.rewindOf(as, q.PostForm.Get)
	if err != nil {
		return "", "", err
	}
	counts, err := as.Rewind(q.Context(), r.name, r.to, inspect.Selection{DryRun: true})
	if err != nil {
		return "", "", err
	}
	if counts.Matched > mostRewound { // more than the dry run has said
		return "", "", badRequest(tooManyToRewind(counts.Matched))
	}
	counts, err = as.Rewind(q.Context(), r.name, r.to, inspect.Selection{})
	if err != nil {
		return "", "", errors.Join(err, fmt.Errorf("%d were rewound", counts.Moved))
	}
	return fmt.Sprintf("%s handles %s again.", r.name, words.Counted(counts.Moved, "event")), "subscriptions", nil
}

// typesToPause reads the types of a form, and which of the file they are.
func (q *request) typesToPause(file *inspect.File, value func(string) string) (glob string, matched []string, err error) {
	if glob, err = opened(value("types")); err == nil && glob == "" {
		glob = strings.TrimSpace(value("pattern"))
	}
	if err == nil && glob == "" {
		err = badRequest("Say which types to pause. Nothing was changed.")
	}
	if err != nil {
		return "", nil, err
	}
	matched, err = beforehand.Types(q.Context(), file, []string{glob})
	return glob, matched, refused(err)
}

func fillPausePlan(q *request) (any, error) {
	glob, matched, err := q.typesToPause(q.file(), q.FormValue)
	if err != nil {
		return nil, err
	}
	target, err := q.target()
	if err != nil {
		return nil, err
	}
	reason := q.FormValue("reason")
	d := &dryRun{
		Title: "Pause events of type " + glob,
		Lead: fmt.Sprintf("Events of %s would be held, for every subscription, until somebody resumes them. Nothing is lost, and nothing is changed yet.",
			words.Counted(len(matched), "type")),
		Facts: []field{{words.Counted(len(matched), "type"), strings.Join(matched, ", ")}},
		Do:    "Pause " + words.Counted(len(matched), "type"), Action: "pause-types",
		Fields: []field{sealedField("types", glob), sealedField("because", reason)},
		CLI:    commandline.Of("subscriptions pause", []string{"--type", glob}, target),
	}
	if reason != "" {
		d.Facts = append(d.Facts, field{"Why", reason})
		d.CLI = commandline.Of("subscriptions pause", []string{"--type", glob, "--reason", reason}, target)
	}
	return d, nil
}

func pauseTypesAction(q *request, as *inspect.File) (done, next string, err error) {
	types, matched, err := q.typesToPause(as, q.PostForm.Get)
	if err != nil {
		return "", "", err
	}
	reason, err := opened(q.PostForm.Get("because"))
	if err != nil {
		return "", "", err
	}
	if err := as.PauseTypes(q.Context(), types, reason); err != nil {
		return "", "", refused(err)
	}
	return fmt.Sprintf("Events of type %s are paused: %s.", types, strings.Join(matched, ", ")), "", nil
}
