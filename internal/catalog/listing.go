package catalog

import (
	"slices"
	"strings"
	"time"

	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/setting"
	"github.com/busgen/busgen/runtime/retry"
)

// Setting is one setting that is in force.
type Setting struct {
	Key   string        // as a path: retry.max_attempts, errors.card_declined
	Value any           // a number, true or false, a list of texts, or a text as the language writes it
	Pos   diag.Position // zero for what is built in
}

// List returns every setting that means something, in a fixed order. A policy that is
// switched off is one setting with the value off.
func (s Settings) List() []Setting {
	list := []Setting{{"priority", s.Priority.V.String(), s.Priority.Pos}}
	for i, row := range setting.Plain {
		if v := s.Plain(i); v.Written() || !row.Sparse {
			list = append(list, Setting{row.Key, InWords(row, v.V), v.Pos})
		}
	}
	if s.Batch.Written() { // else few subscriptions have batches
		list = append(list, Setting{"batch.size", s.Batch.Size.V, s.Batch.Size.Pos})
		list = append(list, Setting{"batch.wait", shortOrOff(s.Batch.Wait.V), s.Batch.Wait.Pos})
	}
	if s.Limits.Written() { // else few subscriptions have limits
		list = append(list, Setting{"limits", limitTexts(s.Limits.V), s.Limits.Pos})
	}
	list = append(list, s.Retry.list("retry.")...)
	for _, rule := range s.Errors {
		list = append(list, rule.list()...)
	}
	list = append(list, s.Breaker.list()...)
	return append(list, s.Redrive.list()...)
}

var plainFields = setting.FieldsOf[Settings]()

// Plain returns the value of [setting.Plain][i]: nanoseconds, a count, or 1 for true.
func (s *Settings) Plain(i int) Value[int64] {
	field, pos := s.Field(i).(cell).parts()
	n, _ := setting.Get(field)
	return Value[int64]{n, pos}
}

// Field returns the *[Value] of [setting.Plain][i].
func (s *Settings) Field(i int) any { return plainFields.In(s, i) }

// BuiltinPlain returns the plain settings of an event for which nothing is written.
func BuiltinPlain() (s Settings) {
	for i, row := range setting.Plain {
		field, _ := s.Field(i).(cell).parts()
		setting.Put(field, row.Default)
	}
	return s
}

// InWords returns the number of a plain setting as a [Setting] has it.
func InWords(row *setting.Row, n int64) any {
	switch {
	case row.Kind == setting.Flag:
		return n != 0
	case row.Off && n == 0:
		return Off
	case row.Kind == setting.Count:
		return int(n)
	}
	return Short(time.Duration(n))
}

func shortOrOff(d time.Duration) string {
	if d == 0 {
		return Off
	}
	return Short(d)
}

func limitTexts(uses []*LimitUse) any {
	if len(uses) == 0 {
		return Off
	}
	var texts []string
	for _, use := range uses {
		texts = append(texts, use.String())
	}
	return texts
}

func (r Retry) list(prefix string) []Setting {
	return []Setting{
		{prefix + "max_attempts", r.MaxAttempts.V, r.MaxAttempts.Pos},
		{prefix + "backoff", r.Backoff.V.String(), r.Backoff.Pos},
		{prefix + "base_delay", Short(r.BaseDelay.V), r.BaseDelay.Pos},
		{prefix + "max_delay", Short(r.MaxDelay.V), r.MaxDelay.Pos},
		{prefix + "multiplier", r.Multiplier.V, r.Multiplier.Pos},
		{prefix + "jitter", r.Jitter.V, r.Jitter.Pos},
	}
}

func (b Breaker) list() []Setting {
	if b.Off.V {
		return []Setting{{"breaker", Off, b.Off.Pos}}
	}
	list := []Setting{
		{"breaker.threshold", b.Threshold.V, b.Threshold.Pos},
		{"breaker.min_samples", b.MinSamples.V, b.MinSamples.Pos},
		{"breaker.window", Short(b.Window.V), b.Window.Pos},
		{"breaker.open_for", Short(b.OpenFor.V), b.OpenFor.Pos},
	}
	if b.By.Written() { // else there is one breaker for all
		list = append(list, Setting{"breaker.by", b.By.V, b.By.Pos})
	}
	return list
}

// list returns the settings that differ for the errors of the class.
func (rule *ErrorRule) list() []Setting {
	key := "errors." + rule.Class.V
	if rule.Permanent.V {
		return []Setting{{key, Permanent, rule.Permanent.Pos}}
	}
	var own []Setting
	for _, one := range rule.Retry.list(key + ".") {
		if one.Pos.IsKnown() {
			own = append(own, one)
		}
	}
	if own == nil {
		return []Setting{{key, "as any other", rule.Permanent.Pos}}
	}
	return own
}

func (d Redrive) list() []Setting {
	if d.Off.V {
		return []Setting{{"redrive", Off, d.Off.Pos}}
	}
	reasons := Setting{"redrive.reasons", d.Reasons.V, d.Reasons.Pos}
	if len(d.Reasons.V) == 0 {
		reasons.Value = "all"
	}
	return []Setting{
		reasons,
		{"redrive.every", Short(d.Every.V), d.Every.Pos},
		{"redrive.max", d.Max.V, d.Max.Pos},
	}
}

// PolicyFor returns the retry policy for errors that rule is for.
func (s Settings) PolicyFor(rule *ErrorRule) retry.Policy {
	p := s.Policy().With(rule.Retry.Options()...)
	if rule.Permanent.V {
		p.MaxAttempts = 1
	}
	return p
}

// Own returns the settings of s that are written, for settings that inherit nothing: those of a [PatternSubscription].
func (s Settings) Own() []Setting {
	var own []Setting
	for _, one := range s.List() {
		if one.Pos.IsKnown() {
			own = append(own, one)
		}
	}
	switchedOn := func(key string, off Value[bool]) {
		within := func(one Setting) bool { return strings.HasPrefix(one.Key, key) }
		if off.Written() && !slices.ContainsFunc(own, within) {
			own = append(own, Setting{key, struct{}{}, off.Pos})
		}
	}
	switchedOn("breaker", s.Breaker.Off)
	switchedOn("redrive", s.Redrive.Off)
	return own
}
