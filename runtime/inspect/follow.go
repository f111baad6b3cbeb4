package inspect

import (
	"context"
	"errors"
	"fmt"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// Newest returns the newest n events that match, the oldest of them first, and in Next
// the end of the log, from which [File.Follow] goes on. With 0 it returns that place only.
func (f *File) Newest(ctx context.Context, filter event.Filter, n int) (event.Followed, error) {
	if err := checkEvents(filter); err != nil {
		return event.Followed{}, err
	}
	if n < 0 {
		return event.Followed{}, fmt.Errorf("newest events: the number is %d: it must not be negative", n)
	}
	return f.log.Follow(ctx, engine.Following{Filter: engine.Filter{Filter: filter}, Newest: true, Limit: n})
}

// Follow returns the events that match in the order of the log, the oldest first: those
// behind page.After, which is the Next of the part before, and without it from the beginning
// of the log. Call it again at once while there is More, and then from time to time, to
// get what is published meanwhile:
//
//	part, err := file.Newest(ctx, filter, 10)
//	for err == nil {
//		show(part.Events)
//		if !part.More {
//			time.Sleep(time.Second)
//		}
//		part, err = file.Follow(ctx, filter, event.Page{After: part.Next})
//	}
//
// Each event is in exactly one part, unless it was pruned before: Pruned counts those.
// When the file was replaced, or a backup was restored into it, Restarted is set, and the
// part begins with what was published since the part before was read. Next is good for
// other Files of the same path, too, so the file need not be kept open in between. A page
// with an Offset is refused; a Next that is none is a *[event.PageError].
func (f *File) Follow(ctx context.Context, filter event.Filter, page event.Page) (event.Followed, error) {
	if err := checkEvents(filter); err != nil {
		return event.Followed{}, err
	}
	page, err := engine.CompletePage(page)
	if err == nil && page.Offset > 0 {
		err = errors.New("a part of the log has no offset")
	}
	if err != nil {
		return event.Followed{}, fmt.Errorf("follow events: %w", err)
	}
	return f.log.Follow(ctx, engine.Following{Filter: engine.Filter{Filter: filter}, After: page.After, Limit: page.Limit})
}
