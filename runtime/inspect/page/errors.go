package page

import (
	"errors"
	"net/http"

	"github.com/busgen/busgen/runtime/inspect/page/internal/refusal"
	"github.com/busgen/busgen/runtime/inspect/page/internal/texts"
)

// notAllowed is the error for a method that an address does not have.
func notAllowed(w http.ResponseWriter, allowed string) error {
	w.Header().Set("Allow", allowed)
	return refusal.New(http.StatusMethodNotAllowed, "This address takes "+allowed+" only. Nothing was changed.")
}

// errGone says that nobody reads the answer any more.
var errGone = errors.New("the browser has gone")

// failure is the Data of an error page.
type failure struct {
	Status int
	Words  string // of the status
	Text   string
}

// refuse answers with an error page, unless nobody reads it.
func (q *request) refuse(w http.ResponseWriter, err error) {
	if errors.Is(err, errGone) {
		return
	}
	status := refusal.StatusOf(err)
	v := q.view(http.StatusText(status), "error")
	v.Data = failure{status, http.StatusText(status), err.Error()[:min(len(err.Error()), texts.MostBytes)]}
	if err := write(w, status, "error", v); err != nil && !errors.Is(err, errGone) {
		http.Error(w, "This page cannot be made.", http.StatusInternalServerError)
	}
}
