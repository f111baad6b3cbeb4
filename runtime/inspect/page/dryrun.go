package page

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/busgen/busgen/internal/beforehand"
	"github.com/busgen/busgen/internal/commandline"
	"github.com/busgen/busgen/internal/words"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/inspect/page/internal/refusal"
	"github.com/busgen/busgen/runtime/inspect/page/internal/texts"
)

// The sheets of buttons that change much at once: each says what would happen, and has the button that does it.
var (
	replayPlanSheet = sheet{path: "plan-replay", title: "Dry run", template: "dryrun", fill: fillReplayPlan}
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

// mostReplayed is how many events a page replays: the browser waits for it.
const mostReplayed = 10_000

// replay is what a form asks for: a subscription, and from where on.
type replay struct {
	name string
	from inspect.Selection
	text string // how the form says from where on
}

// replayOf reads a form: "from" is as it was typed, and "place" is what a dry run has sealed.
func (q *request) replayOf(file *inspect.File, value func(string) string) (r replay, err error) {
	if r.name, err = texts.Opened(value("subscription")); err != nil {
		return r, err
	}
	if r.text, err = texts.Opened(value("place")); err != nil {
		return r, err
	}
	if r.text == "" {
		r.text = strings.TrimSpace(value("from"))
	}
	if err := beforehand.Subscriptions(q.Context(), file, []string{r.name}); err != nil {
		return r, refused(err)
	}
	r.from, err = beforehand.ReplayFrom(q.Context(), file, r.text, texts.TimeOf)
	return r, refused(err)
}

// refused is the error of what somebody has asked for and cannot have.
func refused(err error) error {
	if _, unknown := errors.AsType[*beforehand.UnknownError](err); unknown {
		return refusal.New(http.StatusNotFound, texts.Sentence(err.Error())+" Nothing was changed.")
	}
	if err != nil && refusal.StatusOf(err) == http.StatusInternalServerError {
		return refusal.BadRequest(texts.Sentence(err.Error()) + " Nothing was changed.")
	}
	return err
}

func fillReplayPlan(q *request) (any, error) {
	r, err := q.replayOf(q.file(), q.FormValue)
	if err != nil {
		return nil, err
	}
	r.from.DryRun = true
	counts, err := q.file().Replay(q.Context(), r.name, r.from)
	if err != nil {
		return nil, err
	}
	target, err := q.target()
	if err != nil {
		return nil, err
	}
	d := &dryRun{
		Title: "Replay to " + r.name, Action: "replay", Fields: []field{sealedField("subscription", r.name), sealedField("place", r.text)},
		CLI: commandline.Of("events replay", r.flags(), target),
	}
	switch n := counts.Matched; {
	case n == 0:
		d.Lead = texts.Sentence(fmt.Sprintf("%s has handled nothing since then (%s)", r.name, r.text))
	case n > mostReplayed:
		d.Lead = tooManyToReplay(n)
	default:
		d.Lead, d.Do = beforehand.ReplayQuestion(r.name, "from "+r.text, n)+" Nothing is changed yet.", fmt.Sprintf("Handle %s again", words.Counted(n, "event"))
	}
	return d, nil
}

func tooManyToReplay(n int) string {
	return "These are " + words.Number(n) + " events, more than the page replays at once: use the command, with --rate. Nothing was changed."
}

// flags are those of "busgen events replay" for the same.
func (r replay) flags() []string {
	flags := []string{"--subscription", r.name}
	switch {
	case r.from.From != uuid.Nil:
		return append(flags, "--from", r.text)
	case !r.from.Filter.Since.IsZero():
		return append(flags, "--since", r.text)
	}
	return append(flags, "--all")
}

// replayAction delivers again what a subscription has handled from a place in the log on.
func replayAction(q *request, as *inspect.File) (done, next string, err error) {
	r, err := q.replayOf(as, q.PostForm.Get)
	if err != nil {
		return "", "", err
	}
	dry := r.from
	dry.DryRun = true
	counts, err := as.Replay(q.Context(), r.name, dry)
	if err != nil {
		return "", "", err
	}
	if counts.Matched > mostReplayed { // more than the dry run has said
		return "", "", refusal.BadRequest(tooManyToReplay(counts.Matched))
	}
	counts, err = as.Replay(q.Context(), r.name, r.from)
	if err != nil {
		return "", "", errors.Join(err, fmt.Errorf("%d were replayed", counts.Moved))
	}
	return fmt.Sprintf("%s handles %s again.", r.name, words.Counted(counts.Moved, "event")), "subscriptions", nil
}

// typesToPause reads the types of a form, and which of the file they are.
func (q *request) typesToPause(file *inspect.File, value func(string) string) (glob string, matched []string, err error) {
	if glob, err = texts.Opened(value("types")); err == nil && glob == "" {
		glob = strings.TrimSpace(value("pattern"))
	}
	if err == nil && glob == "" {
		err = refusal.BadRequest("Say which types to pause. Nothing was changed.")
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
		d.Facts = append(d.Facts, field{"Because", reason})
		d.CLI = commandline.Of("subscriptions pause", []string{"--type", glob, "--because", reason}, target)
	}
	return d, nil
}

func pauseTypesAction(q *request, as *inspect.File) (done, next string, err error) {
	types, matched, err := q.typesToPause(as, q.PostForm.Get)
	if err != nil {
		return "", "", err
	}
	reason, err := texts.Opened(q.PostForm.Get("because"))
	if err != nil {
		return "", "", err
	}
	if err := as.PauseTypes(q.Context(), types, reason); err != nil {
		return "", "", refused(err)
	}
	return fmt.Sprintf("Events of type %s are paused: %s.", types, strings.Join(matched, ", ")), "", nil
}
