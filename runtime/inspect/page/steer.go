package page

import (
	"fmt"

	"github.com/busgen/busgen/internal/commandline"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/inspect/page/internal/texts"
)

// pauseTypes is the button that pauses events by their type.
func pauseTypes(target string) button {
	return button{
		Dry: pausePlanSheet.path, Label: "Pause event types", Ask: []ask{{"pattern", "Types: a name, or a pattern such as order.*"}, {"reason", "Because"}},
		CLI: commandline.Of("subscriptions pause", []string{"--type", "TYPES"}, target),
	}
}

// resumeTypes is the button of a pause of types or of a key, or nil for one of a subscription.
func resumeTypes(target string, p event.PauseState) *button {
	if p.Key != "" {
		return &button{
			Action: "resume", Label: "Resume", Of: ofKey(p.Subscription, p.Key),
			Fields: []field{sealedField("subscription", p.Subscription), sealedField("key", p.Key)},
			CLI:    commandline.Of("subscriptions resume", keyFlag(p.Key), target, p.Subscription),
		}
	}
	if p.Types == "" {
		return nil
	}
	return &button{
		Action: "resume-types", Label: "Resume", Of: p.Types, Fields: []field{sealedField("types", p.Types)},
		CLI: commandline.Of("subscriptions resume", []string{"--type", p.Types}, target),
	}
}

// closeBreaker is the button of a circuit breaker.
func closeBreaker(target, subscription, key string) button {
	return button{
		Action: "close-breaker", Label: "Close", Of: ofKey(subscription, key),
		Fields: []field{sealedField("subscription", subscription), sealedField("key", key)},
		CLI:    commandline.Of("breakers close", keyFlag(key), target, subscription),
	}
}

// keyFlag returns the arguments that name a key.
func keyFlag(key string) []string {
	if key == "" {
		return nil
	}
	return []string{"--key", key}
}

// ofKey names a subscription, or its deliveries with a key.
func ofKey(subscription, key string) string {
	if key == "" {
		return subscription
	}
	return subscription + " for key " + key
}

func resumeTypesAction(q *request, as *inspect.File) (done, next string, err error) {
	types, err := q.name("types")
	if err != nil {
		return "", "", err
	}
	if err := as.ResumeTypes(q.Context(), types); err != nil {
		return "", "", err
	}
	return fmt.Sprintf("Events of type %s are resumed.", types), "", nil
}

func closeBreakerAction(q *request, as *inspect.File) (done, next string, err error) {
	name, err := q.name("subscription")
	if err != nil {
		return "", "", err
	}
	key, err := texts.Opened(q.PostForm.Get("key"))
	if err != nil {
		return "", "", err
	}
	if err := as.CloseBreakerOf(q.Context(), name, key); err != nil {
		return "", "", err
	}
	return fmt.Sprintf("The circuit breaker of %s is closed.", ofKey(name, key)), "", nil
}

// pauseOrResume is the button of a subscription.
func pauseOrResume(target string, s event.SubscriptionState) button {
	b := button{
		Action: "pause", Label: "Pause", Of: s.Name,
		Fields: []field{sealedField("subscription", s.Name)},
		Ask:    []ask{{"reason", "Because"}, {"only", "Only this key (empty: all)"}},
		CLI:    commandline.Of("subscriptions pause", nil, target, s.Name),
	}
	if s.Paused {
		b.Action, b.Label, b.Ask = "resume", "Resume", nil
		b.CLI = commandline.Of("subscriptions resume", nil, target, s.Name)
	}
	return b
}

// pauseAction pauses a subscription.
func pauseAction(q *request, as *inspect.File) (done, next string, err error) {
	name, err := q.name("subscription")
	if err != nil {
		return "", "", err
	}
	key, reason := q.PostForm.Get("only"), q.PostForm.Get("reason")
	if key == "" {
		err = as.PauseSubscription(q.Context(), name, reason)
	} else {
		err = as.PauseKey(q.Context(), name, key, reason)
	}
	if err != nil {
		return "", "", err
	}
	return fmt.Sprintf("Subscription %s is paused.", ofKey(name, key)), q.back(), nil
}

// resumeAction ends the pause of a subscription.
func resumeAction(q *request, as *inspect.File) (done, next string, err error) {
	name, err := q.name("subscription")
	if err != nil {
		return "", "", err
	}
	key, err := texts.Opened(q.PostForm.Get("key"))
	if err != nil {
		return "", "", err
	}
	if key == "" {
		err = as.ResumeSubscription(q.Context(), name)
	} else {
		err = as.ResumeKey(q.Context(), name, key)
	}
	if err != nil {
		return "", "", err
	}
	return fmt.Sprintf("Subscription %s is resumed.", ofKey(name, key)), q.back(), nil
}

// back is the page that a form is on: the first one, or that of the subscriptions.
func (q *request) back() string {
	if q.PostForm.Get("back") == subscriptionsSheet.path {
		return subscriptionsSheet.path
	}
	return ""
}
