package page

import (
	"fmt"

	"github.com/google/uuid"

	"github.com/busgen/busgen/internal/commandline"
	"github.com/busgen/busgen/internal/words"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/inspect/page/internal/refusal"
)

// deliveryButtons are what an operator can do about one delivery.
func deliveryButtons(target string, e event.Event, d event.DeliveryState) []button {
	id := e.ID
	key := event.Key{EventID: id, Subscription: d.Subscription}.String()
	fields := []field{sealedField("event", id.String()), sealedField("subscription", d.Subscription)}
	because := []ask{{"reason", "Because"}}
	reason := []string{"--because", "…"}
	switch d.State {
	case event.StateDead:
		return []button{
			{Action: "retry-delivery", Label: "Retry", Of: d.Subscription, Fields: fields, CLI: commandline.Of("dlq retry", nil, target, key)},
			{Action: "discard-dead", Label: "Discard", Of: d.Subscription, Fields: fields, Ask: because, CLI: commandline.Of("dlq discard", reason, target, key)},
		}
	case event.StateDiscarded:
		return []button{{Action: "undiscard", Label: "Undo the discard", Of: d.Subscription, Fields: fields, CLI: commandline.Of("events discard", []string{"--undo"}, target, key)}}
	case event.StateDone:
		return []button{{
			Action: "replay-event", Label: "Handle again", Of: d.Subscription, Fields: fields,
			CLI: commandline.Of("events replay", []string{"--subscription", d.Subscription}, target, id.String()),
		}}
	}
	var all []button
	if waitsToBeTried(e, d) {
		all = append(all, tryNowButton(target, id, d.Subscription))
	}
	return append(all, button{Action: "discard-delivery", Label: "Discard", Of: d.Subscription, Fields: fields, Ask: because, CLI: commandline.Of("events discard", reason, target, key)})
}

// onDelivery is an action on the delivery that a form names. It leads back to the event.
func onDelivery(do func(q *request, as *inspect.File, key event.Key) (done string, err error)) action {
	return func(q *request, as *inspect.File) (done, next string, err error) {
		key, err := q.keyOf()
		if err != nil {
			return "", "", err
		}
		done, err = do(q, as, key)
		return done, "event?id=" + key.EventID.String(), err
	}
}

// reason returns why something is discarded, which a form must say.
func (q *request) reason() (string, error) {
	reason := q.PostForm.Get("reason")
	if reason == "" {
		return "", refusal.BadRequest("Say why: the reason stays with the event. Nothing was changed.")
	}
	return reason, nil
}

func retryDelivery(q *request, as *inspect.File, key event.Key) (string, error) {
	counts, err := as.Retry(q.Context(), inspect.Only(key))
	return changedOrNot(counts, key, "The dead letter of %s is retried.", "There is no dead letter of %s any more. Nothing was changed."), err
}

func discardLetter(q *request, as *inspect.File, key event.Key) (string, error) {
	reason, err := q.reason()
	if err != nil {
		return "", err
	}
	counts, err := as.DiscardDeadLetters(q.Context(), inspect.Only(key), reason)
	return changedOrNot(counts, key, "The dead letter of %s is discarded.", "There is no dead letter of %s any more. Nothing was changed."), err
}

func discardDelivery(q *request, as *inspect.File, key event.Key) (string, error) {
	reason, err := q.reason()
	if err != nil {
		return "", err
	}
	_, err = as.DiscardEvent(q.Context(), key.EventID, key.Subscription, reason)
	return fmt.Sprintf("%s will not handle the event.", key.Subscription), err
}

func undiscard(q *request, as *inspect.File, key event.Key) (string, error) {
	undone, err := as.Undiscard(q.Context(), event.Undo{Event: key.EventID, Subscription: key.Subscription})
	switch {
	case undone.Dead > 0:
		return fmt.Sprintf("The event is a dead letter of %s again.", key.Subscription), err
	case undone.Due > 0:
		return fmt.Sprintf("%s will handle the event.", key.Subscription), err
	case undone.Left > 0:
		return "It was edited into another event, or a handler discards it at this moment. Nothing was changed.", err
	}
	return fmt.Sprintf("The event is not discarded for %s. Nothing was changed.", key.Subscription), err
}

func replayEvent(q *request, as *inspect.File, key event.Key) (string, error) {
	counts, err := as.Replay(q.Context(), key.Subscription, inspect.Selection{Filter: event.Filter{Events: []uuid.UUID{key.EventID}}})
	return changedOrNot(counts, key, "%s handles the event again.", "%s has not handled the event. Nothing was changed."), err
}

func changedOrNot(counts inspect.Counts, key event.Key, changed, not string) string {
	if counts.Moved == 0 {
		changed = not
	}
	return fmt.Sprintf(changed, key.Subscription)
}

// attemptsFailed is "1 failed attempt", "2 failed attempts".
func attemptsFailed(n int) string { return words.Counted(n, "failed attempt") }
