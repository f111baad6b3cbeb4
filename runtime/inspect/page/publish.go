package page

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/commandline"
	"github.com/busgen/busgen/internal/payload"
	"github.com/busgen/busgen/internal/words"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/inspect/page/internal/refusal"
	"github.com/busgen/busgen/runtime/inspect/page/internal/texts"
	"github.com/busgen/busgen/runtime/inspect/page/internal/typeinfo"
)

var publishSheet = sheet{path: "publish", title: "Publish an event", template: "publish", fill: fillPublish}

// publishPage is the Data of the page that publishes an event: its form, and behind that what the event would do.
type publishPage struct {
	Form    publishForm
	Types   []string
	MayEdit bool     // the file was opened with editing
	Why     string   // of what was typed and refused; empty if nothing was
	Fields  []field  // of the event, which fits; nil before it was checked
	Who     []string // the subscriptions that would get it
	CLI     string
}

// publishForm is what was typed.
type publishForm struct{ Type, Payload, Key, Delay, Metadata string }

// mostTyped is how long a payload is that the page publishes, in bytes.
const mostTyped = 20_000

func fillPublish(q *request) (any, error) {
	form := publishForm{Type: strings.TrimSpace(q.FormValue("type"))}
	if form.Type != "" {
		known, err := q.typeOf(form.Type)
		if err != nil {
			return nil, err
		}
		if known.History != nil {
			form.Payload = texts.Pretty(sampleOf(known.History))
		}
	}
	return q.publishPage(form)
}

// sampleOf is a payload to begin with: an example of the catalogue, or one that is made up.
func sampleOf(e *catalog.Event) json.RawMessage {
	if sample := e.Sample(); sample != nil {
		return sample
	}
	sample, _ := payload.Sample(e) // a stored schema has none
	return sample
}

// publishPage prepares a form for its page.
func (q *request) publishPage(form publishForm) (*publishPage, error) {
	target, err := q.target()
	if err != nil {
		return nil, err
	}
	names, err := q.file().Names(q.Context())
	if err != nil {
		return nil, err
	}
	data := &publishPage{Form: form, MayEdit: q.page.file.MayEdit(), CLI: form.commandLine(target)}
	for _, name := range names.Types {
		if !strings.HasPrefix(name, "$") {
			data.Types = append(data.Types, name)
		}
	}
	return data, nil
}

// commandLine publishes by command what the form has.
func (f publishForm) commandLine(target string) string {
	if f.Type == "" {
		return commandline.Of("events publish", nil, target, "TYPE", "{…}")
	}
	var flags []string
	add := func(name, value string) {
		if value != "" {
			flags = append(flags, name, value)
		}
	}
	add("--dedupe-key", f.Key)
	add("--delay", f.Delay)
	for _, one := range f.entries() {
		add("--metadata", one)
	}
	if len(f.Payload) > texts.MostValue {
		return commandline.Of("events publish", append(flags, "--payload", "payload.json"), target, f.Type)
	}
	return commandline.Of("events publish", flags, target, f.Type, f.Payload)
}

// entries are the lines of the metadata that have something.
func (f publishForm) entries() (all []string) {
	for line := range strings.Lines(f.Metadata) {
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, line)
		}
	}
	return all
}

// event returns the event that was typed.
func (f publishForm) event() (one inspect.NewEvent, err error) {
	one = inspect.NewEvent{Type: f.Type, Payload: []byte(f.Payload), DedupeKey: f.Key, Metadata: map[string]string{}}
	switch {
	case f.Type == "":
		return one, refusal.BadRequest("Say of which type the event is.")
	case len(f.Payload) > mostTyped:
		return one, refusal.BadRequest(fmt.Sprintf("The payload has %s; the page takes up to %s: use the command.", words.Bytes(int64(len(f.Payload))), words.Bytes(mostTyped)))
	}
	if f.Delay != "" {
		if one.Delay, err = words.ParseSpan(f.Delay); err != nil {
			return one, refusal.BadRequest("The delay is no time: " + err.Error() + ".")
		}
	}
	for _, line := range f.entries() {
		name, value, found := strings.Cut(line, "=")
		if !found || name == "" {
			return one, refusal.BadRequest(fmt.Sprintf("The metadata has the line %q: want name=value.", texts.Clip(line, texts.MostValue)))
		}
		one.Metadata[name] = value
	}
	return one, nil
}

// typedEvent reads the form, and checks the event. Of one that is refused the error is a *formAgain.
func (q *request) typedEvent(as *inspect.File, value func(string) string) (data *publishPage, one inspect.NewEvent, err error) {
	form := publishForm{
		Type: strings.TrimSpace(value("type")), Payload: texts.Editable([]byte(strings.ReplaceAll(q.PostForm.Get("payload"), "\r\n", "\n"))),
		Key: strings.TrimSpace(value("key")), Delay: strings.TrimSpace(value("delay")), Metadata: value("metadata"),
	}
	if data, err = q.publishPage(form); err != nil {
		return nil, one, err
	}
	if one, err = form.event(); err == nil {
		err = as.CheckEvents(q.Context(), []inspect.NewEvent{one})
	}
	return data, one, q.again(data, err)
}

// again is the error of an event that is refused: the form once more, with what was typed.
func (q *request) again(data *publishPage, err error) error {
	var invalid *inspect.InvalidEventError
	var refused refusal.Error
	switch {
	case errors.As(err, &invalid):
		err = invalid.Err
	case !errors.As(err, &refused):
		return err
	}
	var missing *event.NotFoundError
	if data.Why = texts.Clip(err.Error(), texts.MostBytes); !errors.As(err, &missing) && !errors.As(err, &refused) {
		err = refusal.BadRequest(data.Why)
	}
	return &formAgain{&publishSheet, data, err}
}

// checkEventAction says what an event would do that was typed, and changes nothing.
func checkEventAction(q *request, as *inspect.File) (done, next string, err error) {
	data, one, err := q.typedEvent(as, q.PostForm.Get)
	if err != nil {
		return "", "", err
	}
	all, err := q.file().Subscriptions(q.Context())
	if err != nil {
		return "", "", err
	}
	for _, s := range all {
		if len(typeinfo.Matching(s.Pattern, []string{one.Type})) > 0 {
			data.Who = append(data.Who, s.Name)
		}
	}
	data.Fields = []field{
		sealedField("type", data.Form.Type), sealedField("key", data.Form.Key), sealedField("delay", data.Form.Delay), sealedField("metadata", data.Form.Metadata),
	}
	return "", "", &formAgain{sheet: &publishSheet, data: data}
}

// publishEventAction publishes an event that was checked.
func publishEventAction(q *request, as *inspect.File) (done, next string, err error) {
	var damaged error
	data, one, err := q.typedEvent(as, texts.Unsealing(q.PostForm.Get, &damaged))
	if damaged != nil || err != nil {
		return "", "", cmp.Or(damaged, err)
	}
	published, err := as.Publish(q.Context(), []inspect.NewEvent{one})
	if err != nil {
		return "", "", q.again(data, err)
	}
	done = fmt.Sprintf("The event of type %s is published.", one.Type)
	if published[0].Duplicate {
		done = fmt.Sprintf("Nothing was published: this event of type %s has the key.", one.Type)
	}
	return done, eventHref(event.Key{EventID: published[0].ID}), nil
}
