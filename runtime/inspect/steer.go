package inspect

import (
	"context"
	"fmt"

	"github.com/busgen/busgen/internal/glob"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// PauseSubscription stops the deliveries to a subscription until
// [File.ResumeSubscription]. The reason, in a few words or empty, is for everybody who
// finds it paused. Handlers that run are not interrupted; its events wait where they
// are, and retries that come due wait as well. Pausing what is paused changes nothing.
// It may be a former name. One that the file does not know is a *[NotFoundError].
func (f *File) PauseSubscription(ctx context.Context, name, reason string) error {
	return f.log.Pause(ctx, engine.Pause{Kind: engine.PauseSubscription, Target: name, Reason: reason})
}

// ResumeSubscription ends the pause of a subscription. Without one the error is a
// *[NotFoundError].
func (f *File) ResumeSubscription(ctx context.Context, name string) error {
	return f.log.Resume(ctx, engine.Pause{Kind: engine.PauseSubscription, Target: name})
}

// PauseTypes stops the deliveries of the events that a glob matches, to all
// subscriptions, until [File.ResumeTypes] with the same glob. Events of other types
// overtake them. A type may be covered by several pauses, and is held until the last
// one has ended. Pausing what is paused changes nothing.
func (f *File) PauseTypes(ctx context.Context, types, reason string) error {
	if _, err := glob.Parse(types); err != nil {
		return fmt.Errorf("pause event types: %w", err)
	}
	return f.log.Pause(ctx, engine.Pause{Kind: engine.PauseType, Target: types, Reason: reason})
}

// ResumeTypes ends a pause of types, given by the glob it was made with, and makes what
// it held due now. Without such a pause the error is a *[NotFoundError].
func (f *File) ResumeTypes(ctx context.Context, types string) error {
	return f.log.Resume(ctx, engine.Pause{Kind: engine.PauseType, Target: types})
}

// Removed counts what [File.RemoveSubscription] has forgotten.
//
//	type Removed struct {
//		Open int // events it had yet to settle
//		Dead int // dead letters
//	}
type Removed = engine.Removed

// RemoveSubscription makes the file forget a subscription, with its open events, its
// dead letters, the record of its failures and its pause. The events themselves stay.
// It is one transaction, for which publishers wait: up to a second for a hundred
// thousand dead letters.
//
// A name that the catalogue declares, or that a program subscribes, is there again at
// the next start, and begins at the end of the log: take it out of both first. No
// process may dispatch from the file, so that no handler is at work for it: otherwise
// the error is a *runtime.OwnedError that says who does. A name that no subscription has
// now, which includes former ones, is a *[NotFoundError].
func (f *File) RemoveSubscription(ctx context.Context, name string) (Removed, error) {
	return f.log.RemoveSubscription(ctx, name)
}
