package dispatch

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrBatchWait is returned to a batch handler that waits for another event.
var ErrBatchWait = errors.New("a batch handler cannot wait for an event: its place and the keys of its events cannot be lent; " +
	"publish with the context and let another subscription go on")

// BatchError names the events of a batch that have failed.
type BatchError struct {
	// Items has the error of each that has failed, by its index in the batch, from 0. A nil
	// error says that the event has not failed.
	Items map[int]error
}

// Set notes what the handler has got for an item. Nil errors are not kept.
func (e *BatchError) Set(i int, err error) {
	if err == nil {
		return
	}
	if e.Items == nil {
		e.Items = map[int]error{}
	}
	e.Items[i] = err
}

// Err returns e, or nil if no item has failed.
func (e *BatchError) Err() error {
	if len(e.failed()) == 0 {
		return nil
	}
	return e
}

// failed returns the indexes of the items that have failed, in order.
func (e *BatchError) failed() (indexes []int) {
	for i, err := range e.Items {
		if err != nil {
			indexes = append(indexes, i)
		}
	}
	slices.Sort(indexes)
	return indexes
}

// Error says which items have failed, and how the first few have.
func (e *BatchError) Error() string {
	const shown = 5
	indexes := e.failed()
	var text strings.Builder
	fmt.Fprintf(&text, "%d events of the batch have failed", len(indexes))
	for at, i := range indexes {
		if at == shown {
			fmt.Fprintf(&text, "; and %d more", len(indexes)-shown)
			break
		}
		words, _ := textOf(e.Items[i])
		fmt.Fprintf(&text, "; item %d: %s", i, words)
	}
	return text.String()
}

// Unwrap returns the errors of the items, in their order.
func (e *BatchError) Unwrap() (all []error) {
	for _, i := range e.failed() {
		all = append(all, e.Items[i])
	}
	return all
}
