package catalog

import (
	"strconv"
	"strings"

	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/runtime/declare"
)

// Limit is an entry of `limits:`. It is for all subscriptions whose settings name it, and has a count for each key if
// they have one.
type Limit struct {
	declare.Limit
	GoName string        // of the constant: LimitBank
	Pos    diag.Position // of its name
}

// LimitUse is an entry of `limits` in the settings.
type LimitUse struct {
	Limit *Limit
	By    Value[string] // the path of a field of the payload; not written if all deliveries count together
	Pos   diag.Position
}

// String returns bank, or mail by customer.email.
func (u *LimitUse) String() string {
	if u.By.Written() {
		return u.Limit.Name + " by " + u.By.V
	}
	return u.Limit.Name
}

// Meaning returns what the use means: 3 at once for each customer_id.
func (u *LimitUse) Meaning() string {
	if u.By.Written() {
		return u.Limit.String() + " for each " + u.By.V
	}
	return u.Limit.String()
}

// Reason returns what the use means, and the doc of the limit in one line.
func (u *LimitUse) Reason() string {
	if u.Limit.Doc == "" {
		return u.Meaning()
	}
	return u.Meaning() + ". " + strings.Join(strings.Fields(u.Limit.Doc), " ")
}

// LimitKey is a field of a payload by which limits of the event, or of one of its subscriptions, count.
type LimitKey struct {
	Path   string   // customer.email
	Fields []*Field // along the path; the last has a scalar kind
}

// String returns what the limit allows: 3 at once, 100 per 1m.
func (l *Limit) String() string {
	var parts []string
	if l.AtOnce > 0 {
		parts = append(parts, strconv.Itoa(l.AtOnce)+" at once")
	}
	if l.Rate > 0 {
		parts = append(parts, l.RateText())
	}
	return strings.Join(parts, ", ")
}

// RateText returns the rate as the language writes it: 100 per 1m.
func (l *Limit) RateText() string { return strconv.Itoa(l.Rate) + " per " + Short(l.Per) }
