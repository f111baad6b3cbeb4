package declare

import (
	"slices"
	"time"

	"github.com/busgen/busgen/internal/setting"
	"github.com/busgen/busgen/runtime/retry"
)

// With returns s with what o sets. A redrive that o switches on or off replaces that of s as a
// whole. s is not changed, and shares no slices with what is returned
// that o sets.
func (s Settings) With(o Override) Settings {
	r := resolving{settings: s, redrive: s.Redrive, redriveOff: s.Redrive.Max == 0}
	if r.redriveOff || o.Redrive.Off != nil {
		r.redrive = defaultRedrive()
	}
	r.apply(&o)
	return r.result()
}

// Resolve returns the settings of an event type, or of a subscription, for which these places set something, the least
// specific first; nil sets nothing. What no place sets is as in [DefaultSettings].
func Resolve(places ...*Override) Settings {
	r := resolving{settings: DefaultSettings(), redriveOff: true, redrive: defaultRedrive()}
	for _, o := range places {
		if o != nil {
			r.apply(o)
		}
	}
	return r.result()
}

// RedriveOverride sets fields of [Redrive].
type RedriveOverride struct {
	Off     *bool // nothing is retried automatically
	Reasons []string
	Every   *time.Duration
	Max     *int
}

// defaultRedrive is what a redrive has where its fields are not set.
func defaultRedrive() Redrive { return Redrive{Every: time.Hour, Max: 3} }

var (
	inSettings = setting.FieldsOf[Settings]()
	inOverride = setting.FieldsOf[Override]()
)

// resolving lays overrides over settings.
type resolving struct {
	settings   Settings
	redrive    Redrive
	redriveOff bool
}

func (r *resolving) apply(o *Override) {
	s := &r.settings
	s.Retry, s.Breaker = s.Retry.With(o.Retry...), s.Breaker.With(o.Breaker...)
	for i := range setting.Plain {
		if n, set := inOverride.Get(o, i); set {
			inSettings.Put(s, i, n)
		}
	}
	if (o.BatchSize != nil || o.BatchWait != nil) && s.Batch == (Batch{}) {
		s.Batch = Batch{Size: defaultBatchSize, Wait: defaultBatchWait}
	}
	replace(&s.Batch.Size, o.BatchSize)
	replace(&s.Batch.Wait, o.BatchWait)
	if o.Limits != nil {
		s.Limits = slices.Concat(o.Limits) // nil for none
	}
	s.Errors = overlayRules(s.Errors, o.Errors)
	replace(&r.redriveOff, o.Redrive.Off)
	if o.Redrive.Reasons != nil {
		r.redrive.Reasons = o.Redrive.Reasons
	}
	replace(&r.redrive.Every, o.Redrive.Every)
	replace(&r.redrive.Max, o.Redrive.Max)
}

func (r *resolving) result() Settings {
	s := r.settings
	if s.Concurrency == 1 {
		s.Concurrency = 0
	}
	s.Redrive = r.redrive
	if r.redriveOff {
		s.Redrive = Redrive{}
	}
	return s
}

func replace[T any](dst *T, value *T) {
	if value != nil {
		*dst = *value
	}
}

// overlayRules puts own rules in front of those that are inherited. A class that both have is one
// rule, retried by the options of both, unless the own one is permanent.
func overlayRules(inherited, own []ErrorRule) []ErrorRule {
	if len(own) == 0 {
		return inherited
	}
	indexOf := func(rules []ErrorRule, class string) int {
		return slices.IndexFunc(rules, func(r ErrorRule) bool { return r.Class == class })
	}
	var rules []ErrorRule
	for _, rule := range own {
		if i := indexOf(inherited, rule.Class); i >= 0 && !rule.Permanent {
			rule.Retry = retry.Merge(inherited[i].Retry, rule.Retry)
		}
		rules = append(rules, rule)
	}
	for _, rule := range inherited {
		if indexOf(own, rule.Class) < 0 {
			rules = append(rules, rule)
		}
	}
	return rules
}
