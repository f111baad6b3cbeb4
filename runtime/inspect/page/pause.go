package page

import (
	"fmt"

	"github.com/busgen/busgen/internal/commandline"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
)

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
	key, err := opened(q.PostForm.Get("key"))
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
