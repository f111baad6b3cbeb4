package importer

import (
	"slices"

	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/importer/tree"
)

// channels3 reads the messages of the channels of version 3.
func (r *asyncReader) channels3() {
	for _, c := range r.root.Get("channels").Properties() {
		channel := r.schemas.Followed(c.Value)
		for _, m := range channel.Get("messages").Properties() {
			r.message(m, m.Name)
		}
		r.channelRest(channel, "messages")
	}
}

// channelRest reports what is said of a channel.
func (r *asyncReader) channelRest(channel *tree.Node, known ...string) {
	for _, m := range channel.Properties() {
		said := m.Value.Is(tree.Text) &&
			slices.ContainsFunc(channel.Get("messages").Properties(), func(message tree.Member) bool {
				n := r.schemas.Followed(message.Value)
				return n.Str("description") == m.Value.Text
			})
		if m.Name != "address" && !slices.Contains(known, m.Name) && !said {
			r.Note(m.At, "a catalogue has no place for %s of a channel", m.Name)
		}
	}
}

// operations3 makes subscriptions of received messages. The program publishes those that
// it sends: they are not in a catalogue.
func (r *asyncReader) operations3() {
	for _, o := range r.root.Get("operations").Properties() {
		op := r.schemas.Followed(o.Value)
		if op.Str("action") == "receive" {
			for _, m := range r.messagesOf(op) {
				r.subscribe(r.message(m, m.Name), o.Name, tree.NewMember(o.Name, o.At, op), op.Get("description"))
			}
		}
		for _, m := range op.Properties() {
			switch m.Name {
			case "action", "channel", "messages", "description", "x-busgen":
			case "reply":
				r.Report(m.At, rules.ImportKeyword, "the reply of an operation has no counterpart in a catalogue").
					Hint = "publish an answer as an event of its own"
			case "traits":
				r.Report(m.At, rules.ImportKeyword, "the traits of an operation have no counterpart in a catalogue")
			default:
				r.Note(m.At, "a catalogue has no place for %s of an operation", m.Name)
			}
		}
	}
}

// messagesOf are the messages of an operation: those that it names, or all of its channel.
func (r *asyncReader) messagesOf(op *tree.Node) []tree.Member {
	if named := op.Get("messages"); named.Is(tree.List) {
		var all []tree.Member
		for _, m := range named.Items {
			all = append(all, tree.NewMember("", m.Place, m))
		}
		return all
	}
	channel := r.schemas.Followed(op.Get("channel"))
	return channel.Get("messages").Properties()
}

// channels2 reads version 2, in which a channel has its operations inside. Others publish what
// the program receives.
func (r *asyncReader) channels2() {
	for _, c := range r.root.Get("channels").Properties() {
		channel := r.schemas.Followed(c.Value)
		for _, o := range channel.Properties() {
			switch o.Name {
			case "publish", "subscribe":
				r.operation2(c.Name, o)
			case "$ref":
			default:
				r.Note(o.At, "a catalogue has no place for %s of a channel", o.Name)
			}
		}
	}
}

// topics1 reads version 1, in which what is published or subscribed to under a topic is a message.
func (r *asyncReader) topics1() {
	for _, t := range r.root.Get("topics").Properties() {
		topic := r.schemas.Followed(t.Value)
		for _, o := range topic.Properties() {
			switch o.Name {
			case "publish", "subscribe":
				op := tree.NewObject(o.Value.Place).Add("message", o.At, o.Value)
				r.operation2(t.Name, tree.NewMember(o.Name, o.At, op))
			case "$ref":
			default:
				r.Note(o.At, "a catalogue has no place for %s of a topic", o.Name)
			}
		}
	}
}

func (r *asyncReader) operation2(channel string, o tree.Member) {
	messages := []tree.Member{tree.NewMember(channel, o.At, o.Value.Get("message"))}
	if several := o.Value.Get("message").Get("oneOf"); several.Is(tree.List) {
		messages = nil
		for _, m := range several.Items {
			messages = append(messages, tree.NewMember(channel, m.Place, m))
		}
	}
	for _, m := range messages {
		if m.Value == nil {
			continue
		}
		e := r.message(m, channel)
		if o.Name != "publish" {
			continue
		}
		name := o.Value.Str("operationId")
		if name == "" {
			name = channel
		}
		said := o.Value.Get("description")
		if said == nil {
			said = o.Value.Get("summary")
		}
		r.subscribe(e, name, tree.NewMember(name, o.At, o.Value), said)
	}
	for _, m := range o.Value.Properties() {
		switch m.Name {
		case "message", "operationId", "x-busgen":
		case "description", "summary":
			if o.Name != "publish" {
				r.Note(m.At, "a catalogue has no place for %s of an operation", m.Name)
			}
		case "traits":
			r.Report(m.At, rules.ImportKeyword, "the traits of an operation have no counterpart in a catalogue")
		default:
			r.Note(m.At, "a catalogue has no place for %s of an operation", m.Name)
		}
	}
}
