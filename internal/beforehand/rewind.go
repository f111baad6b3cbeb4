package beforehand

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/busgen/busgen/internal/words"
	"github.com/busgen/busgen/runtime/inspect"
)

// PlaceIn reads where to rewind to: beginning, a time as timeOf reads it, or the id of an event of the file.
// What could be both, such as 7d, is a time.
func PlaceIn(ctx context.Context, file *inspect.File, text string, timeOf func(string) (time.Time, error)) (inspect.To, error) {
	switch text {
	case "":
		return inspect.To{}, errors.New("say where to: beginning, a time, or the id of an event")
	case "beginning":
		return inspect.ToBeginning(), nil
	}
	if at, err := timeOf(text); err == nil {
		return inspect.ToTime(at), nil
	}
	id, err := file.FindEvent(ctx, text)
	if _, missing := errors.AsType[*inspect.NotFoundError](err); err != nil && !missing {
		if _, several := errors.AsType[*inspect.AmbiguousError](err); !several {
			err = fmt.Errorf("%s is neither beginning, nor a time, nor the id of an event", text)
		}
	}
	return inspect.ToEvent(id), err
}

// RewindQuestion asks before a subscription handles n events again.
func RewindQuestion(subscription string, to inspect.To, n int) string {
	return fmt.Sprintf("Really rewind %s to %s, and have it handle %s again?", subscription, to, words.Counted(n, "event"))
}

// NothingToRewind says that no event would be handled again.
func NothingToRewind(subscription string, to inspect.To) string {
	return fmt.Sprintf("%s has handled nothing since then (%s)", subscription, to)
}
