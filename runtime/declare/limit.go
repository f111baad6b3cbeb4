package declare

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/busgen/busgen/internal/format"
)

// Limit is a named limit that several subscriptions, and code outside of handlers, share.
// It says how many attempts may run at once, or how many may begin within a time, or both.
// The catalogue declares limits, and runtime.WithLimit adds one when a bus is opened. [Settings]
// and runtime.WithLimits say which deliveries need it; runtime.Limiter is for any code.
//
// A delivery that needs a limit which has no room waits for its turn: it does not count as
// an attempt, no timeout runs, it takes no place of its subscription, and later events of
// its partition key wait behind it. All others go on. Turns are first come, first served
// over all subscriptions of the bus; within a subscription, by priority.
//
// AtOnce holds within a bus: when its process ends, however it ends, all is free. Rate
// holds for everybody who uses the file, and survives restarts and kill -9. If processes
// have different numbers of a rate, all go by those of the one that last began to use it or was tuned.
type Limit struct {
	// Name is how the limit is used. It must not be empty.
	Name string
	// Doc is from the catalogue.
	Doc string
	// AtOnce is how many attempts may run at once, up to 1,000,000; 0 for no such limit.
	AtOnce int
	// Rate is how many attempts may begin within Per, up to 1,000,000; 0 for no such limit. After a
	// pause so many may begin at once, and then one every Per/Rate: in any time t at most
	// Rate + Rate·t/Per. So 100 per minute in bursts of 20 are 20 per 12s, and a service that refuses
	// more than 100 calls in any minute needs a Rate of 50 per minute.
	Rate int
	// Per is the time that Rate is for, from 1ms to 366 days. It is 0 without a Rate.
	Per time.Duration
}

// What limits may be.
const (
	minLimitPer = time.Millisecond
	maxLimitPer = 366 * 24 * time.Hour
)

// Validate returns nil for a limit that a bus can keep, and otherwise every problem in one
// error.
func (l Limit) Validate() error {
	var problems []error
	require := func(ok bool, format string, args ...any) {
		if !ok {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	if problem := limitNameProblem(l.Name); problem != "" {
		problems = append(problems, errors.New(problem))
	}
	require(l.AtOnce >= 0 && l.AtOnce <= format.MaxLimit, "AtOnce is %d: it must be from 1 to %d, or 0 for no such limit", l.AtOnce, format.MaxLimit)
	require(l.Rate >= 0 && l.Rate <= format.MaxLimit, "Rate is %d: it must be from 1 to %d, or 0 for no such limit", l.Rate, format.MaxLimit)
	require(l.AtOnce != 0 || l.Rate != 0, "neither AtOnce nor Rate is set: it limits nothing")
	if l.Rate > 0 {
		require(l.Per >= minLimitPer && l.Per <= maxLimitPer, "Per is %v: with a Rate it must be from %v to 366 days", l.Per, minLimitPer)
	} else {
		require(l.Per == 0, "Per is %v without a Rate: say how many per %v", l.Per, l.Per)
	}
	return errors.Join(problems...)
}

func limitNameProblem(name string) string {
	switch {
	case strings.TrimSpace(name) != name || name == "":
		return "a limit needs a name without spaces around it"
	case len(name) > format.MaxSubscriptionName:
		return fmt.Sprintf("the name has %d bytes, the maximum is %d", len(name), format.MaxSubscriptionName)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return "the name has bytes that cannot be printed"
	}
	return ""
}

// LimitUse says that deliveries need a [Limit].
type LimitUse struct {
	// Limit is its name.
	Limit string `json:"limit"`
	// By is the path of a field of the payload, such as customer_id: each value of it has a
	// limit of its own. The path is one that generated code knows (runtime.Spec.LimitKeys). Empty
	// for one limit for all. An empty value of the field is this one, too.
	By string `json:"by,omitempty"`
}

// ValidateUses returns nil for limits that a delivery can need, whatever limits there are, and otherwise the first
// problem.
func ValidateUses(uses []LimitUse) error {
	seen := map[string]bool{}
	for _, use := range uses {
		if problem := limitNameProblem(use.Limit); problem != "" {
			return fmt.Errorf("the limit %q: %s", use.Limit, problem)
		}
		if seen[use.Limit] {
			return fmt.Errorf("the limit %q is there twice: a delivery needs it once", use.Limit)
		}
		seen[use.Limit] = true
	}
	return nil
}
