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

// ReplayFrom reads from where on to replay: beginning, a time as timeOf reads it, or the id of an event of the file.
// What could be both, such as 7d, is a time.
func ReplayFrom(ctx context.Context, file *inspect.File, text string, timeOf func(string) (time.Time, error)) (s inspect.Selection, err error) {
	switch text {
	case "":
		return s, errors.New("say from where on: beginning, a time, or the id of an event")
	case "beginning":
		return s, nil
	}
	if s.Filter.Since, err = timeOf(text); err == nil {
		return s, nil
	}
	s.Filter.Since = time.Time{}
	if s.From, err = file.FindEvent(ctx, text); err != nil {
		_, missing := errors.AsType[*event.NotFoundError](err)
		if _, several := errors.AsType[*inspect.AmbiguousError](err); !missing && !several {
			err = fmt.Errorf("%s is neither beginning, nor a time, nor the id of an event", text)
		}
	}
	return s, err
}

// ReplayQuestion asks before a subscription handles n events again, those that are said in words.
func ReplayQuestion(subscription, which string, n int) string {
	return fmt.Sprintf("Really have %s handle %s again (%s)?", subscription, words.Counted(n, "event"), which)
}
