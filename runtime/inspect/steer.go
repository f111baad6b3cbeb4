package inspect

import (
	"context"
	"fmt"

	"github.com/busgen/busgen/internal/glob"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// PauseSubscription stops the deliveries to a subscription until
// [File.ResumeSubscription]. The reason, which may be empty, is shown with the pause.
// Running handlers are not interrupted; pending events and retries wait. A second pause
// changes nothing. The name may be a former one. For a name that the file does not have
// the error is a *[event.NotFoundError].
func (f *File) PauseSubscription(ctx context.Context, name, reason string) error {
	return f.log.Pause(ctx, engine.Pause{Kind: engine.PauseSubscription, Target: name, Reason: reason})
}

// ResumeSubscription ends the pause of a subscription. Without one the error is a
// *[event.NotFoundError].
func (f *File) ResumeSubscription(ctx context.Context, name string) error {
	return f.log.Resume(ctx, engine.Pause{Kind: engine.PauseSubscription, Target: name})
}

// PauseKey is [File.PauseSubscription] for the deliveries that have a key: by their partition key, or by the field of one of
// their limits or of their circuit breaker. Others overtake them.
func (f *File) PauseKey(ctx context.Context, name, key, reason string) error {
	if key == "" {
		return fmt.Errorf("pause a key of subscription %q: the key is empty", name)
	}
	return f.log.Pause(ctx, engine.Pause{Kind: engine.PauseSubscription, Target: name, Key: key, Reason: reason})
}

// ResumeKey ends a pause of a key, and makes what it held due now. Without one the error is a *[event.NotFoundError].
func (f *File) ResumeKey(ctx context.Context, name, key string) error {
	return f.log.Resume(ctx, engine.Pause{Kind: engine.PauseSubscription, Target: name, Key: key})
}

// PauseTypes stops the deliveries of the events that a glob matches, to all
// subscriptions, until [File.ResumeTypes] with the same glob. Events of other types
// overtake them. If several pauses cover a type, it is held until the last one has ended.
// A second pause with the same glob changes nothing.
func (f *File) PauseTypes(ctx context.Context, types, reason string) error {
	if _, err := glob.Parse(types); err != nil {
		return fmt.Errorf("pause event types: %w", err)
	}
	return f.log.Pause(ctx, engine.Pause{Kind: engine.PauseType, Target: types, Reason: reason})
}

// ResumeTypes ends a pause of types, given by the glob it was made with, and makes what
// it held due now. Without such a pause the error is a *[event.NotFoundError].
func (f *File) ResumeTypes(ctx context.Context, types string) error {
	return f.log.Resume(ctx, engine.Pause{Kind: engine.PauseType, Target: types})
}

// RemoveSubscription makes the file forget a subscription, with its open events, its
// dead letters, the record of its failures and its pause. The events themselves stay.
// It is one transaction, for which publishers wait: up to a second for a hundred
// thousand dead letters.
//
// If the catalogue declares the name, or a program subscribes with it, the next start
// makes the subscription again, at the end of the log: remove it from both first. If a
// process dispatches from the file, the error is a *event.OwnedError that names it. If
// no subscription has the name now, the error is a *[event.NotFoundError]; former names do not
// count.
func (f *File) RemoveSubscription(ctx context.Context, name string) (event.Removed, error) {
	return f.log.RemoveConsumer(ctx, name, f.actor)
}
