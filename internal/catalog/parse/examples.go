package parse

import (
	"fmt"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/payload"
)

// checkSamples makes up the payloads of events without an example, and reports those of which no payload can be made up.
func (r *Events) checkSamples() {
	bytes := 0
	for _, e := range r.declared.events {
		if len(e.Examples) > 0 {
			continue
		}
		text, problem := payload.Sample(e)
		if e.MadeUp = text; problem != nil {
			r.report(r.nameAt(e.Name), rules.Example, "busgen cannot generate an example of event %s: %s", e.Label(), problem).
				Hint = "add one under its key examples"
		}
		if bytes += len(text); bytes > maxSamples {
			r.report(r.nameAt(e.Name), rules.Example, "the generated examples would be larger than %d MiB in total", maxSamples>>20).
				Hint = "add short ones under the key examples of events with large payloads, or make several catalogues"
			return
		}
	}
}

// maxSamples limits the bytes of all payloads that are made up. One line of a catalogue can declare an event
// whose payload is a thousand times as large.
var maxSamples = 64 << 20 // a variable for tests

// examples reads `examples:` of an event, and holds each against the payload
// if that could be read.
func (r *Events) examples(o object, fields []*catalog.Field, payloadOK bool) []*catalog.Example {
	e, ok := o.entries["examples"]
	if !ok {
		return nil
	}
	if e.value.Kind != yaml.SequenceNode {
		r.wrongKind(e.value, "examples of "+o.what, "a list of payloads")
		return nil
	}
	if len(e.value.Content) == 0 {
		r.report(r.place(e.value), rules.Example, "examples of %s is empty", o.what).
			Hint = "add a payload, or remove the key"
	}
	var examples []*catalog.Example
	for i, item := range e.value.Content {
		what := fmt.Sprintf("example %d of %s", i+1, o.what)
		if text, ok := JSON(r.Reader, item, what, &catalog.TypeRef{Kind: catalog.Named, Named: &catalog.Type{Fields: fields}}, payloadOK, rules.Example); ok {
			examples = append(examples, &catalog.Example{JSON: text, Pos: r.position(item)})
		}
	}
	return examples
}
