package page

import (
	"fmt"

	"github.com/busgen/busgen/internal/commandline"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
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
	key, err := opened(q.PostForm.Get("key"))
	if err != nil {
		return "", "", err
	}
	if err := as.CloseBreakerOf(q.Context(), name, key); err != nil {
		return "", "", err
	}
	return fmt.Sprintf("The circuit breaker of %s is closed.", ofKey(name, key)), "", nil
}
