// Package refusal has the errors of a page in words for who reads it, with their status of HTTP.
package refusal

import (
	"context"
	"errors"
	"net/http"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
)

// Error is an error with its status of HTTP, in words for who reads the page.
type Error struct {
	Status int
	Text   string
}

func (r Error) Error() string { return r.Text }

// New is a refusal with a status of HTTP.
func New(status int, text string) Error { return Error{status, text} }

// BadRequest is the error for an address, or a form, that is wrong.
func BadRequest(text string) error { return Error{http.StatusBadRequest, text} }

// StatusOf returns the status of HTTP of an error.
func StatusOf(err error) int {
	var refused Error
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
		return refused.Status
	case errors.Is(err, inspect.ErrEditingDisabled):
		return http.StatusForbidden
	case errors.As(err, &missing), errors.As(err, &ambiguous):
		return http.StatusNotFound
	case errors.As(err, &wrongPage), errors.As(err, &payload):
		return http.StatusBadRequest
	case errors.As(err, &begun), errors.As(err, &settled), errors.As(err, &canary),
		errors.As(err, &owned), errors.Is(err, inspect.ErrNobodyDispatches):
		return http.StatusConflict
	case errors.As(err, &storage), errors.Is(err, inspect.ErrClosed),
		errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}
