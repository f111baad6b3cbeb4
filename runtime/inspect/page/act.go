package page

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/inspect/page/internal/refusal"
	"github.com/busgen/busgen/runtime/inspect/page/internal/texts"
)

// action is what a button does. It gets the fields of the form from q.PostForm, and a file
// whose changes are in the audit under the name of the actor. It returns what it has done, in
// words, and the page on which that is shown: a link of pages, or the last part of its path.
type action func(q *request, as *inspect.File) (done, next string, err error)

// mostForm is how large a form can be, in bytes.
const mostForm = 16 << 20

// act does what a button is for. Nothing else changes a file. It refuses what does not come
// from the page itself, and who may not act.
func (p *Page) act(w http.ResponseWriter, q *request, do action) error {
	if q.Method != http.MethodPost {
		return notAllowed(w, "POST")
	}
	if err := p.origin.Check(q.Request); err != nil {
		return refusal.New(http.StatusForbidden, "This request comes from another site. Nothing was changed.")
	}
	switch {
	case p.actorOf == nil:
		return refusal.New(http.StatusForbidden, "This page only looks. Nothing was changed.")
	case !q.mayAct:
		return refusal.New(http.StatusForbidden, "You may not act on this page. Nothing was changed.")
	}
	q.Body = http.MaxBytesReader(w, q.Body, mostForm)
	if err := q.ParseForm(); err != nil {
		return refusal.BadRequest("The form cannot be read. Nothing was changed.")
	}
	as, err := p.file.As(q.Context(), q.actor)
	if err != nil {
		return err
	}
	defer as.Close()
	done, next, err := do(q, as)
	var again *formAgain
	switch {
	case errors.As(err, &again):
		return p.writeAgain(w, q, again)
	case err != nil:
		return err
	}
	to, err := url.Parse("./" + strings.TrimPrefix(next, "./"))
	if err != nil {
		return err
	}
	params := to.Query()
	params.Set("done", p.leave(done))
	to.RawQuery = params.Encode()
	// http.Redirect would make it absolute, with a path from which StripPrefix has removed a part.
	w.Header().Set("Location", to.String())
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

// formAgain is the error of an action, or of a page, that shows its form again, with what was
// typed and why it was refused.
type formAgain struct {
	sheet *sheet // of an action; nil for the page itself
	data  any
	err   error // nil if what was typed is fine, and the form asks whether to do it
}

func (f *formAgain) Error() string { return fmt.Sprint("the form is shown again: ", f.err) }
func (f *formAgain) Unwrap() error { return f.err }

// writeAgain answers with a form that is shown again.
func (p *Page) writeAgain(w http.ResponseWriter, q *request, again *formAgain) error {
	status := http.StatusOK
	if again.err != nil {
		status = refusal.StatusOf(again.err)
	}
	return p.write(w, q, status, again.sheet, again.data)
}

// name returns a field of the form that the page has sealed.
func (q *request) name(field string) (string, error) {
	name, err := texts.Opened(q.PostForm.Get(field))
	if err == nil && name == "" {
		err = refusal.BadRequest("The form has no " + field + ".")
	}
	return name, err
}

// button is an action with all that its form has. The part "button" shows it, and the
// command line that does the same. Without the right to act, it shows only that.
type button struct {
	Action string // the last part of a path
	Dry    string // instead: the page that says what would be done, and has the button that does it
	Label  string // Pause
	Of     string // charge-card: what screen readers say behind the label
	Fields []field
	Ask    []ask
	CLI    string
}

// field is what a form has beside what it asks for. The value is sealed.
type field struct{ Name, Value string }

// ask is what a form asks for, in words.
type ask struct{ Name, Label string }

// sealedField makes a field.
func sealedField(name, value string) field { return field{name, texts.Sealed(value)} }
