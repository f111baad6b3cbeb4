package page

import (
	"net/url"
	"strings"
	"time"

	"github.com/busgen/busgen/internal/glob"
	"github.com/busgen/busgen/runtime/event"
)

// part chooses some letters of a group. The zero value chooses all.
type part struct {
	Text, Correlation    string
	Types, Subscriptions []string
	Since, Until         time.Time // of the death
}

// partFields are the fields of a form that choose a part, in its order.
var partFields = []string{"text", "type", "subscription", "correlation", "since", "until"}

// readPart reads what an operator has typed.
func readPart(value func(string) string) (p part, err error) {
	p = part{Text: value("text"), Correlation: value("correlation"), Types: strings.Fields(value("type"))}
	if one := value("subscription"); one != "" {
		p.Subscriptions = []string{one}
	}
	for _, one := range p.Types {
		if _, err := glob.Parse(strings.TrimPrefix(one, "$")); err != nil {
			return p, badRequest("The type " + err.Error() + ".")
		}
	}
	if p.Since, err = timeOf(value("since")); err != nil {
		return p, err
	}
	p.Until, err = timeOf(value("until"))
	return p, err
}

// values are the fields as readPart reads them.
func (p part) values() url.Values {
	v := url.Values{}
	for name, value := range map[string]string{
		"text": p.Text, "correlation": p.Correlation, "type": strings.Join(p.Types, " "), "subscription": strings.Join(p.Subscriptions, ""),
		"since": stamp(p.Since), "until": stamp(p.Until),
	} {
		if value != "" {
			v.Set(name, value)
		}
	}
	return v
}

// Chosen tells whether it is a part, and not all.
func (p part) Chosen() bool { return len(p.values()) > 0 }

// Words are the conditions, as the audit has them.
func (p part) Words() string { return p.filter("").String() }

// filter chooses the letters.
func (p part) filter(group string) event.Filter {
	return event.Filter{
		Group: group, Text: p.Text, CorrelationID: p.Correlation, Types: p.Types, Subscriptions: p.Subscriptions, Since: p.Since, Until: p.Until,
	}
}

// fields are the fields for a form, sealed.
func (p part) fields() (all []field) {
	v := p.values()
	for _, name := range partFields {
		if v.Has(name) {
			all = append(all, sealedField(name, v.Get(name)))
		}
	}
	return all
}

// flags choose the same by command, but for the time at which the last one died.
func (p part) flags() (flags []string) {
	add := func(name, value string) {
		if value != "" {
			flags = append(flags, name, value)
		}
	}
	add("--text", p.Text)
	for _, one := range p.Types {
		add("--type", one)
	}
	for _, one := range p.Subscriptions {
		add("--subscription", one)
	}
	add("--correlation", p.Correlation)
	add("--since", stamp(p.Since))
	return flags
}
