// Package setting has the table of settings: one row for each key that says how events are delivered. The reader of
// catalogues, the inheritance, the listing, the schema, fmt, the documentation page, generated code, package tuning and
// the runtime all go by it.
//
// A new plain setting (one duration, count or flag) needs a row here, a field of the same name in catalog.Settings,
// declare.Settings and declare.Override, one in dispatch.Settings if a delivery needs it, what that does, an option of
// package runtime, a test and a paragraph. TestEverySettingIsWhereItHasToBe says what is missing.
package setting

import (
	"math"
	"time"

	"github.com/busgen/busgen/internal/format"
	"github.com/busgen/busgen/runtime/retry"
)

// Kind says what values a setting has.
type Kind int

// The kinds. Own settings are lists and mappings; each has code of its own.
const (
	Own   Kind = iota
	Span       // a time.Duration
	Count      // an int
	Flag       // a bool
)

// Row describes a setting. Least, Most and Default are nanoseconds of a Span, and 0 or 1 of a Flag.
type Row struct {
	Key         string // in the catalogue
	EventOnly   bool   // subscriptions do not have it
	LiteralOnly bool   // subscriptions for patterns do not have it

	// What follows is for plain settings alone.
	Kind        Kind
	Go          string // its field in each struct of settings
	Least, Most int64
	Off         bool // it can be off, which is 0
	Default     int64
	BusDecides  bool    // 0 in Go leaves it to an option of the bus, and off is the longest duration
	Sparse      bool    // a listing has it only if it is written
	InGroup     Sharing // what holds for a delivery that several members of a group share

	Meaning string // of a Count, for a finding: it counts …
	Doc     string // of the schema, which adds the default
	Example string // of the schema, as JSON
	Label   string // on the documentation page
	Text    string // the same, with %s for the value; a value that is the default is not shown there …
	Always  bool   // … unless this is set
	OffText string // the same, for off; empty to show nothing
}

// Sharing says what holds for a delivery that several members of a group share.
type Sharing int

// The ways to share.
const (
	Each    Sharing = iota // each member has its own
	Loosest                // the largest that a member sets, where off is larger than all; else that of the event type
	Longest                // the largest of all
)

const (
	least = int64(time.Millisecond)
	most  = int64(retry.LimitDelay)
)

// Rows are all settings, in the order in which fmt writes them.
var Rows = []*Row{
	{Key: "priority", EventOnly: true},
	{Key: "concurrency", Go: "Concurrency", Kind: Count, Least: 1, Most: format.MaxConcurrency, Default: 1,
		Meaning: "it is how many handlers of one subscription run at once",
		Doc:     "How many handlers of one subscription run at once.", Example: "4",
		Label: "Concurrency", Text: "up to %s handlers of a subscription at once"},
	{Key: "strict_order", Go: "StrictOrder", Kind: Flag, Most: 1, Sparse: true,
		Doc: "Whether an event that fails holds back the later ones of its partition key until it is settled.", Example: "true",
		Label: "Strict order", Text: "an event that fails holds back the later ones of its key until it is settled"},
	{Key: "batch", LiteralOnly: true}, // a batch has events of one type
	{Key: "limits"},
	{Key: "timeout", Go: "Timeout", Kind: Span, Least: least, Most: most, Off: true, Default: int64(30 * time.Second),
		Doc: "How long one attempt may take: 1ms to 30d, or off.", Example: `"10s"`,
		Label: "Timeout", Text: "%s per attempt", Always: true, OffText: "none"},
	{Key: "slow_after", Go: "SlowAfter", Kind: Span, Least: least, Most: most, Off: true, Default: int64(10 * time.Second),
		Doc: "An attempt that takes longer is logged, once: 1ms to 30d, or off.", Example: `"1s"`,
		Label: "Slow", Text: "logged when an attempt takes longer than %s", Always: true},
	{Key: "slow_event_after", Go: "SlowEventAfter", Kind: Span, Least: least, Most: most, Off: true,
		Default: int64(5 * time.Minute), BusDecides: true,
		Doc: "An event that is not handled after this time is logged, once: 1ms to 30d, or off.", Example: `"30m"`,
		Label: "Slow event", Text: "logged when its attempts still fail after %s"},
	{Key: "expires_after", Go: "ExpiresAfter", Kind: Span, Least: least, Most: most, Off: true, InGroup: Loosest,
		Doc: "For how long an event may be tried, waits included: 1ms to 30d, or off.", Example: `"1d"`,
		Label: "Expires", Text: "%s after it was published"},
	{Key: "hold_unknown", Go: "HoldUnknown", Kind: Span, Least: least, Most: most, Off: true,
		Default: int64(7 * 24 * time.Hour), InGroup: Longest,
		Doc: "For how long an event of a version newer than the program waits for a program that knows it, before it is a dead letter: 1ms to 30d, or off.", Example: `"2d"`,
		Label: "Newer version", Text: "held for a program that knows it, for up to %s", OffText: "a dead letter at once"},
	{Key: "max_snoozes", Go: "MaxSnoozes", Kind: Count, Least: 1, Most: 1_000_000, Off: true, Default: 10_000, InGroup: Loosest,
		Meaning: "it is off or counts snoozes of one event",
		Doc:     "How often a handler may snooze one event.", Example: "1000",
		Label: "Snoozes", Text: "at most %s of one event", OffText: "without a limit"},
	{Key: "retry"},
	{Key: "errors"},
	{Key: "breaker"},
	{Key: "redrive"},
}

// Plain are the rows of plain settings.
var Plain = rows(func(r *Row) bool { return r.Kind != Own })

// Keys are those of an event, of a subscription to it, and of a subscription for patterns, in the order of the rows.
var (
	Keys             = keys(func(*Row) bool { return true })
	SubscriptionKeys = keys(func(r *Row) bool { return !r.EventOnly })
	PatternKeys      = keys(func(r *Row) bool { return !r.EventOnly && !r.LiteralOnly })
)

func rows(which func(*Row) bool) (some []*Row) {
	for _, r := range Rows {
		if which(r) {
			some = append(some, r)
		}
	}
	return some
}

func keys(which func(*Row) bool) (names []string) {
	for _, r := range rows(which) {
		names = append(names, r.Key)
	}
	return names
}

// Value returns the number that Go programs have for a number of the catalogue.
func (r *Row) Value(n int64) int64 {
	if r.BusDecides && n == 0 {
		return math.MaxInt64
	}
	return n
}

// InGo returns a number as a value that messages show as Go does.
func (r *Row) InGo(n int64) any {
	if r.Kind == Span {
		return time.Duration(n)
	}
	return n
}
