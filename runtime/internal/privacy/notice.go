package privacy

import (
	"encoding/base64"
	"encoding/json"
	"slices"
)

// A dead-letter notice carries the payload of the event that has died, in base64, with its type, metadata and the
// error. The functions here are those of [Shape] for it; s is the shape of the type of the event that has died.

// NoticeType returns the type of the event that a dead-letter notice announces; empty if it is none.
func NoticeType(payload []byte) string {
	var n struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(payload, &n) != nil {
		return ""
	}
	return n.Type
}

// inNotice replaces the parts of a notice; metadata that becomes nil is gone. Without a part that it should have, it is no notice, and ok is false.
func inNotice(payload []byte, replace func(version int, event []byte) []byte, text func(string) string, metadata func(json.RawMessage) json.RawMessage) (json.RawMessage, bool) {
	if !json.Valid(payload) || what(payload) != "an object" {
		return nil, false
	}
	var n struct {
		Version int    `json:"version"`
		Payload []byte `json:"payload"`
	}
	if json.Unmarshal(payload, &n) != nil {
		return nil, false
	}
	event := replace(max(n.Version, 1), n.Payload) // before text, which may hide the same values
	all := members(payload)
	for i, m := range all {
		switch m.key {
		case "payload":
			all[i].value = quote(base64.StdEncoding.EncodeToString(event))
		case "error":
			all[i].value = quote(text(unquote(m.value)))
		case "metadata":
			all[i].value = metadata(m.value)
		}
	}
	return object(slices.DeleteFunc(all, func(m member) bool { return m.value == nil })), true
}

// HideNotice is [Shape.Hide] for a notice.
func (s *Shape) HideNotice(payload []byte) (json.RawMessage, *Veil) {
	if !s.Sensitive() {
		return payload, nil
	}
	var veil *Veil
	shown, ok := inNotice(payload, func(version int, event []byte) (hidden []byte) {
		hidden, veil = s.Hide(version, event)
		return hidden
	}, func(text string) string { return veil.Text(text) }, func(m json.RawMessage) json.RawMessage {
		return json.RawMessage(veil.Text(string(m)))
	})
	if !ok {
		return quote(Hidden), &Veil{values: []string{string(payload)}}
	}
	return shown, veil
}

// RedactNotice is [Shape.Redact] for a notice. Its error is erased, and its metadata as metadata says.
func (s *Shape) RedactNotice(payload []byte, p Person, whole bool, metadata func(json.RawMessage) json.RawMessage) json.RawMessage {
	left, ok := inNotice(payload, func(version int, event []byte) []byte { return s.Redact(version, event, p, whole) },
		func(string) string { return Erased }, metadata)
	if !ok {
		return json.RawMessage("{}")
	}
	return left
}

// NoticeNames is [Shape.Names] for a notice.
func (s *Shape) NoticeNames(payload []byte, p Person, path string) (named bool) {
	inNotice(payload, func(version int, event []byte) []byte {
		named = s.Names(version, event, p, path)
		return event
	}, func(text string) string { return text }, func(m json.RawMessage) json.RawMessage { return m })
	return named
}

// EraseInNotice erases the person from the error and the metadata of a notice, and reports whether it has changed.
func (p Person) EraseInNotice(payload []byte) (left json.RawMessage, changed bool) {
	erase := func(text string, erase func(string) (string, bool)) string {
		clean, other := erase(text)
		changed = changed || other
		return clean
	}
	left, _ = inNotice(payload, func(_ int, event []byte) []byte { return event }, func(text string) string { return erase(text, p.Erase) },
		func(m json.RawMessage) json.RawMessage { return json.RawMessage(erase(string(m), p.EraseValues)) })
	return left, changed
}

// MentionedInNotice is [Person.Mentioned] for the payload in a notice.
func (p Person) MentionedInNotice(payload []byte) (found bool) {
	_, ok := inNotice(payload, func(_ int, event []byte) []byte {
		found = p.Mentioned(event)
		return event
	}, func(text string) string { return text }, func(m json.RawMessage) json.RawMessage { return m })
	return found || !ok && p.Mentioned(payload)
}
