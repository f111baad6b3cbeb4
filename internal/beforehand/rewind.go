package beforehand

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/busgen/busgen/internal/words"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
)

// PlaceIn reads where to rewind to: beginning, a time as timeOf reads it, or the id of an event of the file.
// What could be both, such as 7d, is a time.
func PlaceIn(ctx context.Context, file *inspect.File, text string, timeOf func(string) (time.Time, error)) (event.To, error) {
	switch text {
	case "":
		return event.To{}, errors.New("say where to: beginning, a time, or the id of an event")
	case "beginning":
		return event.ToBeginning(), nil
	}
	if at, err := timeOf(text); err == nil {
		return event.ToTime(at), nil
	}
	id, err := file.FindEvent(ctx, text)
	if _, missing := errors.AsType[*event.NotFoundError](err); err != nil && !missing {
		if _, several := errors.AsType[*inspect.AmbiguousError](err); !several {
			err = fmt.Errorf("%s is neither beginning, nor a time, nor the id of an event", text)
		}
	}
	return event.ToEvent(id), err
}

// RewindQuestion asks before a subscription handles n events again.
func RewindQuestion(subscription string, to event.To, n int) string {
	return fmt.Sprintf("Really rewind %s to %s, and have it handle %s again?", subscription, to, words.Counted(n, "event"))
}

// NothingToRewind says that no event would be handled again.
func NothingToRewind(subscription string, to event.To) string {
	return fmt.Sprintf("%s has handled nothing since then (%s)", subscription, to)
}
