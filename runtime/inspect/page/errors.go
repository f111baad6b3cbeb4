package page

import (
	"context"
	"errors"
	"net/http"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
)

// refusal is an error with its status of HTTP, in words for who reads the page.
type refusal struct {
	status int
	text   string
}

func (r refusal) Error() string { return r.text }

// badRequest is the error for an address, or a form, that is wrong.
func badRequest(text string) error { return refusal{http.StatusBadRequest, text} }

// notAllowed is the error for a method that an address does not have.
func notAllowed(w http.ResponseWriter, allowed string) error {
	w.Header().Set("Allow", allowed)
	return refusal{http.StatusMethodNotAllowed, "This address takes " + allowed + " only. Nothing was changed."}
}

// errGone says that nobody reads the answer any more.
var errGone = errors.New("the browser has gone")

// statusOf returns the status of HTTP of an error.
func statusOf(err error) int {
	var refused refusal
	var missing *event.NotFoundError
	var ambiguous *inspect.AmbiguousError
	var wrongPage *event.PageError
	var begun *event.BegunError
	var settled *event.NotOpenError
	var canary *inspect.CanaryError
	var owned *event.OwnedError
	var payload *inspect.InvalidPayloadError
	var storage *event.StorageError
	switch {
	case errors.As(err, &refused):
		return refused.status
	case errors.Is(err, inspect.ErrEditingDisabled):
		return http.StatusForbidden
	case errors.As(err, &missing), errors.As(err, &ambiguous):
		return http.StatusNotFound
	case errors.As(err, &wrongPage), errors.As(err, &payload):
		return http.StatusBadRequest
	case errors.As(err, &begun), errors.As(err, &settled), errors.As(err, &canary), errors.As(err, &owned), errors.Is(err, inspect.ErrNobodyDispatches):
		return http.StatusConflict
	case errors.As(err, &storage), errors.Is(err, inspect.ErrClosed), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

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
	status := statusOf(err)
	v := q.view(http.StatusText(status), "error")
	v.Data = failure{status, http.StatusText(status), err.Error()[:min(len(err.Error()), mostBytes)]}
	if err := write(w, status, "error", v); err != nil && !errors.Is(err, errGone) {
		http.Error(w, "This page cannot be made.", http.StatusInternalServerError)
	}
}
