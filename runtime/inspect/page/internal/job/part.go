package job

import (
	"net/url"
	"strings"
	"time"

	"github.com/busgen/busgen/internal/glob"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect/page/internal/refusal"
	"github.com/busgen/busgen/runtime/inspect/page/internal/texts"
)

// Part chooses some letters of a group. The zero value chooses all.
type Part struct {
	Text, Correlation    string
	Types, Subscriptions []string
	Since, Until         time.Time // of the death
}

// ReadPart reads what an operator has typed.
func ReadPart(value func(string) string) (p Part, err error) {
	p = Part{Text: value("text"), Correlation: value("correlation"), Types: strings.Fields(value("type"))}
	if one := value("subscription"); one != "" {
		p.Subscriptions = []string{one}
	}
	for _, one := range p.Types {
		if _, err := glob.Parse(strings.TrimPrefix(one, "$")); err != nil {
			return p, refusal.BadRequest("The type " + err.Error() + ".")
		}
	}
	if p.Since, err = texts.TimeOf(value("since")); err != nil {
		return p, err
	}
	p.Until, err = texts.TimeOf(value("until"))
	return p, err
}

// Values are the fields as readPart reads them.
func (p Part) Values() url.Values {
	v := url.Values{}
	for name, value := range map[string]string{
		"text": p.Text, "correlation": p.Correlation, "type": strings.Join(p.Types, " "),
		"subscription": strings.Join(p.Subscriptions, ""),
		"since":        texts.Stamp(p.Since), "until": texts.Stamp(p.Until),
	} {
		if value != "" {
			v.Set(name, value)
		}
	}
	return v
}

// Chosen tells whether it is a part, and not all.
func (p Part) Chosen() bool { return len(p.Values()) > 0 }

// Words are the conditions, as the audit has them.
func (p Part) Words() string { return p.Filter("").String() }

// Filter chooses the letters.
func (p Part) Filter(group string) event.Filter {
	return event.Filter{
		Group: group, Text: p.Text, CorrelationID: p.Correlation, Types: p.Types,
		Subscriptions: p.Subscriptions, Since: p.Since, Until: p.Until,
	}
}

// flags choose the same by command, but for the time at which the last one died.
func (p Part) flags() (flags []string) {
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
	add("--since", texts.Stamp(p.Since))
	return flags
}
