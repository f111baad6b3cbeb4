package catalog

import (
	"strconv"
	"strings"
	"time"

	"github.com/busgen/busgen/internal/diag"
)

// Limit is an entry of `limits:`: how many deliveries may be at work at once, how many may begin within a time, or
// both. It is for all subscriptions whose settings name it, and has a count for each key if they have one.
type Limit struct {
	Name   Value[string] // bank
	GoName string        // of the constant: LimitBank
	Doc    string
	AtOnce Value[int] // not written if only a rate limits
	Rate   Rate       // not written if only AtOnce limits
	Hold   Value[string]
	Wait   Value[time.Duration] // 0 for as long as it takes
	Lax    Value[bool]          // who has waited in vain goes on all the same
}

// Rate says how many deliveries may begin within a time.
type Rate struct {
	Count Value[int]
	Per   Value[time.Duration]
	Burst Value[int] // how many may begin at the same moment; not written if as many as Count
}

// The words of `hold`.
const (
	HoldAttempt = "attempt" // a place is free again after each attempt
	HoldEvent   = "event"   // a place is taken until the delivery is settled
)

// HoldWords lists the words of `hold`; the first is the default.
var HoldWords = []string{HoldAttempt, HoldEvent}

// LimitUse is an entry of `limits` in the settings.
type LimitUse struct {
	Limit *Limit
	By    Value[string] // the path of a field of the payload; not written if all deliveries count together
	Pos   diag.Position
}

// String returns bank, or mail by customer.email.
func (u *LimitUse) String() string {
	if u.By.Written() {
		return u.Limit.Name.V + " by " + u.By.V
	}
	return u.Limit.Name.V
}

// Meaning returns what the use means: 3 at once for each customer_id, over all attempts of an event; after a wait
// of 30s the attempt fails.
func (u *LimitUse) Meaning() string {
	l := u.Limit
	text := l.String()
	if u.By.Written() {
		text += " for each " + u.By.V
	}
	if l.Hold.V == HoldEvent {
		text += ", over all attempts of an event"
	}
	switch {
	case l.Wait.Written() && l.Lax.V:
		text += "; after a wait of " + Short(l.Wait.V) + " the attempt begins all the same"
	case l.Wait.Written():
		text += "; after a wait of " + Short(l.Wait.V) + " the attempt fails"
	}
	return text
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
	if l.AtOnce.Written() {
		parts = append(parts, strconv.Itoa(l.AtOnce.V)+" at once")
	}
	if l.Rate.Count.Written() {
		text := l.Rate.String()
		if l.Rate.Burst.Written() {
			text += " in bursts of " + strconv.Itoa(l.Rate.Burst.V)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// String returns the rate as the language writes it: 100 per 1m.
func (r Rate) String() string { return strconv.Itoa(r.Count.V) + " per " + Short(r.Per.V) }
