package importer

import (
	"slices"

	"github.com/busgen/busgen/internal/diag/rules"
)

// channels3 reads the messages of the channels of version 3.
func (r *asyncReader) channels3() {
	for _, c := range r.root.get("channels").properties() {
		channel := r.followed(c.value)
		for _, m := range channel.get("messages").properties() {
			r.message(m, m.name)
		}
		r.channelRest(channel, "messages")
	}
}

// channelRest reports what is said of a channel.
func (r *asyncReader) channelRest(channel *node, known ...string) {
	for _, m := range channel.properties() {
		said := m.value.is(text) && slices.ContainsFunc(channel.get("messages").properties(), func(message member) bool {
			n := r.followed(message.value)
			return n.str("description") == m.value.text
		})
		if m.name != "address" && !slices.Contains(known, m.name) && !said {
			r.note(m.at, "a catalogue has no place for %s of a channel", m.name)
		}
	}
}

// operations3 makes subscriptions of what is received. What is sent is published by the
// program, and is not in a catalogue.
func (r *asyncReader) operations3() {
	for _, o := range r.root.get("operations").properties() {
		op := r.followed(o.value)
		if op.str("action") == "receive" {
			for _, m := range r.messagesOf(op) {
				r.subscribe(r.message(m, m.name), o.name, newMember(o.name, o.at, op), op.get("description"))
			}
		}
		for _, m := range op.properties() {
			switch m.name {
			case "action", "channel", "messages", "description", "x-busgen":
			case "reply":
				r.report(m.at, rules.ImportKeyword, "the reply of an operation has no counterpart in a catalogue").Hint = "publish an answer as an event of its own"
			case "traits":
				r.report(m.at, rules.ImportKeyword, "the traits of an operation have no counterpart in a catalogue")
			default:
				r.note(m.at, "a catalogue has no place for %s of an operation", m.name)
			}
		}
	}
}

// messagesOf are the messages of an operation: those that it names, or all of its channel.
func (r *asyncReader) messagesOf(op *node) []member {
	if named := op.get("messages"); named.is(list) {
		var all []member
		for _, m := range named.items {
			all = append(all, newMember("", m.place, m))
		}
		return all
	}
	channel := r.followed(op.get("channel"))
	return channel.get("messages").properties()
}

// channels2 reads version 2, in which a channel has its operations inside. Others publish what
// the program receives.
func (r *asyncReader) channels2() {
	for _, c := range r.root.get("channels").properties() {
		channel := r.followed(c.value)
		for _, o := range channel.properties() {
			switch o.name {
			case "publish", "subscribe":
				r.operation2(c.name, o)
			case "$ref":
			default:
				r.note(o.at, "a catalogue has no place for %s of a channel", o.name)
			}
		}
	}
}

// topics1 reads version 1, in which what is published or subscribed to under a topic is a message.
func (r *asyncReader) topics1() {
	for _, t := range r.root.get("topics").properties() {
		topic := r.followed(t.value)
		for _, o := range topic.properties() {
			switch o.name {
			case "publish", "subscribe":
				op := newObject(o.value.place).add("message", o.at, o.value)
				r.operation2(t.name, newMember(o.name, o.at, op))
			case "$ref":
			default:
				r.note(o.at, "a catalogue has no place for %s of a topic", o.name)
			}
		}
	}
}

func (r *asyncReader) operation2(channel string, o member) {
	messages := []member{newMember(channel, o.at, o.value.get("message"))}
	if several := o.value.get("message").get("oneOf"); several.is(list) {
		messages = nil
		for _, m := range several.items {
			messages = append(messages, newMember(channel, m.place, m))
		}
	}
	for _, m := range messages {
		if m.value == nil {
			continue
		}
		e := r.message(m, channel)
		if o.name != "publish" {
			continue
		}
		name := o.value.str("operationId")
		if name == "" {
			name = channel
		}
		said := o.value.get("description")
		if said == nil {
			said = o.value.get("summary")
		}
		r.subscribe(e, name, newMember(name, o.at, o.value), said)
	}
	for _, m := range o.value.properties() {
		switch m.name {
		case "message", "operationId", "x-busgen":
		case "description", "summary":
			if o.name != "publish" {
				r.note(m.at, "a catalogue has no place for %s of an operation", m.name)
			}
		case "traits":
			r.report(m.at, rules.ImportKeyword, "the traits of an operation have no counterpart in a catalogue")
		default:
			r.note(m.at, "a catalogue has no place for %s of an operation", m.name)
		}
	}
}
