package lint

import (
	"strconv"
	"strings"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag/rules"
)

var eventDoc = Rule{
	Rule: rules.EventDoc,
	Bad: `
events:
  order.placed: { payload: { order_id: uuid } }`,
	Good: `
events:
  order.placed:
    doc: A customer placed an order. Nothing is paid yet.
    payload: { order_id: uuid }`,
	check: func(p *pass) {
		for _, e := range p.Events {
			if e.Doc == "" {
				p.report(e.Label(), e.Name.Pos, "add a doc that says what happened", "event %s has no doc", e.Label())
			}
		}
	},
}

var typeDoc = Rule{
	Rule: rules.TypeDoc,
	Bad: `
types:
  Currency: { enum: [EUR, USD] }
events:
  order.placed: { payload: { currency: Currency } }`,
	Good: `
types:
  Currency: { doc: Currency is an ISO 4217 code., enum: [EUR, USD] }
events:
  order.placed: { payload: { currency: Currency } }`,
	check: func(p *pass) {
		for _, t := range p.Types {
			if t.Doc == "" && !t.Inline {
				p.report(t.Name.V, t.Name.Pos, "add a doc", "type %s has no doc", t.Name.V)
			}
		}
	},
}

var fieldDoc = Rule{
	Rule: rules.FieldDoc,
	Bad: `
events:
  payment.captured: { payload: { amount: int64 } }`,
	Good: `
events:
  payment.captured:
    payload:
      amount: { type: int64, doc: In cents. }`,
	check: func(p *pass) {
		p.eachField(func(owner, subject string, f *catalog.Field) {
			if f.Doc == "" {
				p.report(subject, f.Name.Pos, "write it as { type: "+inBraces(f.Type.Text)+", doc: … }", "field %s of %s has no doc", f.Label(), owner)
			}
		})
	},
}

var eventOwner = Rule{
	Rule: rules.EventOwner,
	Bad: `
events:
  order.placed: { doc: A customer placed an order. }`,
	Good: `
events:
  order.placed: { doc: A customer placed an order., owner: team-checkout }`,
	check: func(p *pass) {
		for _, e := range p.Events {
			if !e.Owner.Written() {
				p.report(e.Label(), e.Name.Pos, "add the owner", "event %s has no owner", e.Label())
			}
		}
	},
}

var eventExample = Rule{
	Rule: rules.EventExample,
	Bad: `
events:
  order.placed: { payload: { order_id: uuid, email: string } }`,
	Good: `
events:
  order.placed:
    payload: { order_id: uuid, email: string }
    examples: [{ order_id: 018f4f2e-0000-7000-8000-000000000001, email: ada@example.org }]
  user.left: {}`,
	check: func(p *pass) {
		for _, e := range p.Events {
			if len(e.Fields) > 0 && len(e.Examples) == 0 {
				p.report(e.Label(), e.Name.Pos, "add examples with a payload", "event %s has no example", e.Label())
			}
		}
	},
}

// eachField visits the fields of payloads and types, those of a mixin where it is declared. owner is for
// messages, subject for exceptions.
func (p *pass) eachField(visit func(owner, subject string, f *catalog.Field)) {
	for _, t := range p.Types {
		for _, f := range catalog.OwnFields(t.Fields) {
			visit("type "+t.Name.V, t.Name.V, f)
		}
	}
	for _, e := range p.Events {
		for _, f := range catalog.OwnFields(e.Fields) {
			visit("event "+e.Label(), e.Label(), f)
		}
	}
}

// inBraces returns a type as it has to be written inside { }.
func inBraces(text string) string {
	if strings.ContainsAny(text, "[?{") {
		return strconv.Quote(text)
	}
	return text
}
