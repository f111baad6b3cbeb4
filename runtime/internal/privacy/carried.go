package privacy

import (
	"encoding/json"
	"strings"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// Hides hides what is sensitive in a payload of a version, as [Shape.Hide] does. s is the shape of the event type that
// [Carried] returns.
type Hides func(s *Shape, version int, payload []byte) (json.RawMessage, *Veil)

// Carried returns the event type whose values are in a payload, and how they are hidden: mostly the type itself.
// Dead-letter notices, and messages that others have sent, carry an event of another one. It is empty if the payload does
// not say which.
func Carried(eventType string, payload []byte) (of string, hide Hides) {
	if died, notice := strings.CutPrefix(eventType, engine.DeadType("")); notice {
		return died, func(s *Shape, _ int, payload []byte) (json.RawMessage, *Veil) { return s.HideNotice(payload) }
	}
	if eventType == engine.InboxType || eventType == engine.RelayType {
		return NoticeType(payload), func(s *Shape, _ int, payload []byte) (json.RawMessage, *Veil) { return s.HideSent(payload) }
	}
	return eventType, (*Shape).Hide
}

// HideSent is [Shape.Hide] for a message that others have sent, which is an [engine.Sent].
func (s *Shape) HideSent(payload []byte) (json.RawMessage, *Veil) {
	if !s.Sensitive() {
		return payload, nil
	}
	var sent engine.Sent
	if what(payload) != "an object" || json.Unmarshal(payload, &sent) != nil {
		return quote(Hidden), &Veil{values: []string{string(payload)}}
	}
	event, veil := s.Hide(sent.Version, sent.Payload)
	beside := veil // what hides the same values in other texts
	if sent.Payload == nil {
		veil, beside = &Veil{}, HidesAll // which values there are is unknown
	}
	all := members(payload)
	for i, m := range all {
		switch m.key {
		case "payload":
			all[i].value = event
		case "body":
			all[i].value = veil.hide(m.value)
		}
	}
	for i, m := range all {
		switch m.key {
		case "metadata":
			if all[i].value = json.RawMessage(beside.Text(string(m.value))); beside == HidesAll {
				all[i].value = quote(Hidden)
			}
		case "id":
			all[i].value = quote(beside.Text(unquote(m.value)))
		case "problem":
			all[i].value = quote(veil.Text(unquote(m.value)))
		}
	}
	return object(all), veil
}
