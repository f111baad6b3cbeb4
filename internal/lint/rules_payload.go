package lint

import (
	"slices"
	"strings"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag/rules"
)

var secretField = Rule{
	Rule: rules.SecretField,
	Bad: `
events:
  user.registered: { payload: { email: string, password: string } }`,
	Good: `
events:
  user.registered: { payload: { email: string, password_changed: bool, secret_id: uuid, pin: { type: string, sensitive: true } } }`,
	check: func(p *pass) {
		p.eachField(func(owner, subject string, f *catalog.Field) {
			if k := bottom(f.Type).Kind; k != catalog.String && k != catalog.Bytes && k != catalog.JSON {
				return
			}
			if f.Sensitive.Written() {
				return // the author has thought of it
			}
			if word := among(f.Label(), secretWords); word != "" {
				p.report(subject, f.Name.Pos, "leave it out, send a reference to where it is kept, or mark it sensitive: true",
					"field %s of %s looks like a secret", f.Label(), owner)
			}
		})
	},
}

var secretWords = []string{
	"password", "passwd", "passphrase", "secret", "api_key", "apikey", "private_key", "access_token", "refresh_token", "auth_token",
	"credentials", "credit_card", "card_number", "cvc", "cvv", "iban", "pin", "ssn",
}

var floatMoney = Rule{
	Rule: rules.FloatMoney,
	Bad: `
events:
  payment.captured: { payload: { amount: float64 } }`,
	Good: `
events:
  payment.captured: { payload: { amount: int64, price_ratio: float64 } }`,
	check: func(p *pass) {
		p.eachField(func(owner, subject string, f *catalog.Field) {
			words := strings.Split(f.Label(), "_")
			if bottom(f.Type).Kind == catalog.Float64 && slices.Contains(moneyWords, words[len(words)-1]) {
				p.report(subject, f.Name.Pos, "count in the smallest unit, as an int64",
					"field %s of %s looks like money and is a %s", f.Label(), owner, f.Type.Text)
			}
		})
	},
}

var moneyWords = []string{"amount", "balance", "cost", "costs", "discount", "fee", "fees", "money", "payout", "price", "refund", "salary", "subtotal", "tax"}

var unusedType = Rule{
	Rule: rules.UnusedType,
	Bad: `
types:
  Currency: { enum: [EUR, USD] }
events:
  order.placed: {}`,
	Good: `
types:
  Currency: { enum: [EUR, USD] }
events:
  order.placed: { payload: { currencies: "[]Currency" } }`,
	check: func(p *pass) {
		if len(p.Events) == 0 {
			return // its types are for other catalogues
		}
		used := map[*catalog.Type]bool{}
		for _, e := range p.Events {
			markFields(used, e.Values())
			markMixins(used, e.Mixins)
			for _, old := range e.History {
				markType(used, old.Type)
			}
		}
		for _, t := range p.Types {
			if !used[t] && !t.Inline {
				p.report(t.Name.V, t.Name.Pos, "remove it, or use it", "no event uses type %s", t.Name.V)
			}
		}
	},
}

var sampleOfCustom = Rule{
	Rule: rules.SampleOfCustom,
	Bad: `
types:
  Address: { go: { import: net/netip, type: Addr }, type: string }
events:
  host.seen: { payload: { at: Address } }`,
	Good: `
types:
  Address: { go: { import: net/netip, type: Addr }, type: string }
events:
  host.seen: { payload: { at: Address }, examples: [{ at: 192.0.2.1 }] }`,
	check: func(p *pass) {
		for _, e := range p.Events {
			used := map[*catalog.Type]bool{}
			markFields(used, e.Fields)
			for _, t := range p.Types {
				if used[t] && t.IsCustom() && len(e.Examples) == 0 {
					p.report(e.Label(), e.Name.Pos, "add one under its key examples", "event %s has values of type %s, and no example", e.Label(), t.Name.V)
					break
				}
			}
		}
	},
}

func markFields(used map[*catalog.Type]bool, fields []*catalog.Field) {
	for _, f := range fields {
		if t := f.Type.Uses(); t != nil {
			markType(used, t)
		}
	}
}

func markType(used map[*catalog.Type]bool, t *catalog.Type) {
	if used[t] {
		return
	}
	used[t] = true
	markFields(used, t.Fields)
	markMixins(used, t.Mixins)
	for _, v := range t.Variants {
		markType(used, v.Type)
	}
}

func markMixins(used map[*catalog.Type]bool, mixins []*catalog.Mixin) {
	for _, m := range mixins {
		markType(used, m.Type)
	}
}

// bottom returns the innermost type of elements.
func bottom(t *catalog.TypeRef) *catalog.TypeRef {
	for t.Elem != nil {
		t = t.Elem
	}
	return t
}

// among returns the word that a name consists of, or that is its last part.
func among(name string, words []string) string {
	for _, word := range words {
		if name == word || strings.HasSuffix(name, "_"+word) {
			return word
		}
	}
	return ""
}

var partitionGap = Rule{
	Rule: rules.PartitionGap,
	Bad: `
events:
  order.placed: { partition_by: order_id, payload: { order_id: uuid } }
  order.paid: { payload: { order_id: uuid } }`,
	Good: `
events:
  order.placed: { partition_by: order_id, payload: { order_id: uuid } }
  order.paid: { partition_by: order_id, payload: { order_id: uuid } }
  order.searched: { payload: { words: string } }`,
	check: func(p *pass) {
		for _, e := range p.Events {
			if e.PartitionBy != nil {
				continue
			}
			for _, other := range p.neighbours(e).partitioned {
				if field := gap(e, other); field != nil {
					f := p.report(e.Label(), e.Name.Pos, "add partition_by: "+field.Label(),
						"event %s is not partitioned by its field %s, but event %s is", e.Label(), field.Label(), other.Label())
					p.see(f, other.Name.Pos, "event %s is here", other.Label())
					break
				}
			}
		}
	},
}

var dedupeFewValues = Rule{
	Rule: rules.DedupeFewValues,
	Bad: `
events:
  payment.captured: { dedupe_by: final, payload: { payment_id: uuid, final: bool } }`,
	Good: `
events:
  payment.captured: { dedupe_by: payment_id, payload: { payment_id: uuid, final: bool } }`,
	check: func(p *pass) {
		for _, e := range p.Events {
			if f := e.DedupeBy; f != nil && (f.Type.Kind == catalog.Bool || f.Type.Kind == catalog.Named) {
				found := p.report(e.Label(), e.Name.Pos, "name a field that is different for each event, such as an id",
					"the dedupe key of event %s is its field %s, which has few values", e.Label(), f.Label())
				p.see(found, f.Name.Pos, "field %s is here", f.Label())
			}
		}
	},
}

var sensitiveKey = Rule{
	Rule: rules.SensitiveKey,
	Bad: `
events:
  card.charged: { partition_by: card_number, payload: { card_number: { type: string, sensitive: true } } }`,
	Good: `
events:
  card.charged: { partition_by: card_id, payload: { card_id: uuid, card_number: { type: string, sensitive: true } } }`,
	check: func(p *pass) {
		for _, e := range p.Events {
			report := func(key string, f *catalog.Field) {
				if f == nil || !f.Sensitive.V {
					return
				}
				found := p.report(e.Label(), f.Name.Pos, "name a field that is not sensitive, such as an id",
					"the %s of event %s is its field %s, which is sensitive", key, e.Label(), f.Label())
				p.see(found, f.Sensitive.Pos, "it is sensitive because of this")
			}
			report("partition key", e.PartitionBy)
			report("dedupe key", e.DedupeBy)
			for _, k := range e.LimitKeys {
				report("key of a limit", k.Fields[len(k.Fields)-1])
			}
		}
	},
}

// gap returns the field of e by which another event of the namespace is partitioned.
func gap(e, other *catalog.Event) *catalog.Field {
	if namespace(e) == "" {
		return nil
	}
	for _, f := range e.Fields {
		if f.Label() == other.PartitionBy.Label() && f.Type.Text == other.PartitionBy.Type.Text {
			return f
		}
	}
	return nil
}
