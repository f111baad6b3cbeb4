package page

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/busgen/busgen/internal/commandline"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/inspect/page/internal/refusal"
	"github.com/busgen/busgen/runtime/inspect/page/internal/texts"
)

var letterSheet = sheet{path: "letter", title: "Dead letter", template: "letter", fill: fillLetter}

// letterPage is the Data of the page of one dead letter.
type letterPage struct {
	letterRow
	Group    string     // the address of its group
	MayEdit  bool       // the file was opened with editing
	Payload  string     // for the editor; empty if it is too long or no text
	ID       string     // of the event, sealed for the form
	For      string     // the subscription, sealed
	Hides    bool       // something in the payload is not shown
	EditLine string     // edits it by command
	Refused  texts.Long // why what was typed is refused
}

// mostEdited is how long a payload is that can be edited in the browser, in bytes.
const mostEdited = 100_000

func fillLetter(q *request) (any, error) {
	letter, err := q.letter()
	if err != nil {
		return nil, err
	}
	return q.letterPage(letter)
}

// letterPage prepares a dead letter for its page.
func (q *request) letterPage(letter event.DeadLetter) (*letterPage, error) {
	target, err := q.target()
	if err != nil {
		return nil, err
	}
	data := &letterPage{
		letterRow: rowOf(letter, target, texts.MostBytes), Group: groupHref(letter.Fingerprint), MayEdit: q.page.file.MayEdit(),
		ID: texts.Sealed(letter.EventID.String()), For: texts.Sealed(letter.Subscription), EditLine: commandline.Of("dlq edit", nil, target, letter.Key.String()),
	}
	data.Hides = strings.Contains(string(letter.Payload), inspect.HiddenValue)
	if len(letter.Payload) <= mostEdited && json.Valid(letter.Payload) {
		data.Payload = texts.Editable(letter.Payload)
	}
	return data, nil
}

// letter returns the dead letter that the address names.
func (q *request) letter() (event.DeadLetter, error) {
	id, err := uuid.Parse(q.FormValue("event"))
	if err != nil {
		return event.DeadLetter{}, refusal.BadRequest("The address names no event.")
	}
	history, err := q.file().DeadLetter(q.Context(), event.Key{EventID: id, Subscription: q.FormValue("subscription")})
	return history.DeadLetter, err
}

// letterText is the last error of a dead letter.
func letterText(q *request) (string, error) {
	letter, err := q.letter()
	return letter.LastAttempt().Error, err
}

// letterButtons are what can be done about one letter.
func letterButtons(key event.Key, target string) (retry, discard button) {
	name := key.String()
	fields := []field{sealedField("event", key.EventID.String()), sealedField("subscription", key.Subscription)}
	return button{Action: "retry-letter", Label: "Retry", Of: name, Fields: fields, CLI: commandline.Of("dlq retry", nil, target, name)},
		button{
			Action: "discard-letter", Label: "Discard", Of: name, Fields: fields, Ask: []ask{{"reason", "Because"}},
			CLI: commandline.Of("dlq discard", []string{"--because", "…"}, target, name),
		}
}

// keyOf returns the key of the form of a letter.
func (q *request) keyOf() (event.Key, error) {
	one, err := q.name("event")
	if err != nil {
		return event.Key{}, err
	}
	id, err := uuid.Parse(one)
	if err != nil {
		return event.Key{}, refusal.BadRequest("The form names no event.")
	}
	subscription, err := q.name("subscription")
	return event.Key{EventID: id, Subscription: subscription}, err
}

// one does something to one letter, and says where it was: its group.
func (q *request) one(as *inspect.File, do func(inspect.Selection) (inspect.Counts, error)) (next string, err error) {
	key, err := q.keyOf()
	if err != nil {
		return "", err
	}
	letter, err := as.DeadLetter(q.Context(), key) // it says what became of one that is not dead
	if err != nil {
		return "", err
	}
	counts, err := do(inspect.Only(key))
	if err == nil && counts.Moved == 0 {
		err = refusal.New(409, "It is no dead letter any more. Nothing was changed.")
	}
	return groupHref(letter.Fingerprint), err
}

func retryLetterAction(q *request, as *inspect.File) (done, next string, err error) {
	next, err = q.one(as, func(s inspect.Selection) (inspect.Counts, error) { return as.Retry(q.Context(), s) })
	return "The dead letter is retried.", q.unlessGone(next), err
}

func discardLetterAction(q *request, as *inspect.File) (done, next string, err error) {
	reason := q.PostForm.Get("reason")
	if reason == "" {
		return "", "", refusal.BadRequest("Say why the dead letter need not be handled. Nothing was changed.")
	}
	next, err = q.one(as, func(s inspect.Selection) (inspect.Counts, error) {
		return as.DiscardDeadLetters(q.Context(), s, reason)
	})
	return "The dead letter is discarded.", q.unlessGone(next), err
}

// unlessGone is the page of a group or, when it has no letters any more, that of all.
func (q *request) unlessGone(group string) string {
	if id, ok := strings.CutPrefix(group, "./group?id="); ok {
		if n, err := q.file().CountDeadLetters(q.Context(), event.Filter{Group: id}); err == nil && n > 0 {
			return group
		}
	}
	return "problems"
}

// editAgain shows the form again, with what was typed and why it is refused.
func (q *request) editAgain(key event.Key, typed string, refused error) error {
	history, err := q.file().DeadLetter(q.Context(), key)
	if err != nil {
		return refused // there is no letter any more
	}
	data, err := q.letterPage(history.DeadLetter)
	if err != nil {
		return err
	}
	data.Payload = texts.Editable([]byte(strings.ReplaceAll(typed, "\r\n", "\n")))
	data.Refused = texts.Long{Text: texts.Clip(refused.Error(), texts.MostBytes)}
	return &formAgain{&letterSheet, data, refused}
}

// editLetterAction makes a new event from a dead letter.
func editLetterAction(q *request, as *inspect.File) (done, next string, err error) {
	key, err := q.keyOf()
	if err != nil {
		return "", "", err
	}
	typed := q.PostForm.Get("payload")
	id, err := as.Edit(q.Context(), key, []byte(typed))
	var invalid *inspect.InvalidPayloadError
	switch {
	case errors.As(err, &invalid):
		return "", "", q.editAgain(key, typed, err)
	case err != nil:
		return "", "", err
	}
	return fmt.Sprintf("Event %s was made from the dead letter, for %s.", id, key.Subscription), eventHref(event.Key{EventID: id}), nil
}
