package catalog

import "slices"

// With returns s with everything replaced that is written in over.
func (s Settings) With(over Settings) Settings {
	s.Retry = s.Retry.With(over.Retry)
	replace(&s.Timeout, over.Timeout)
	replace(&s.SlowAfter, over.SlowAfter)
	replace(&s.SlowEventAfter, over.SlowEventAfter)
	replace(&s.ExpiresAfter, over.ExpiresAfter)
	replace(&s.HoldUnknown, over.HoldUnknown)
	replace(&s.MaxSnoozes, over.MaxSnoozes)
	s.Breaker = s.Breaker.with(over.Breaker)
	replace(&s.Concurrency, over.Concurrency)
	replace(&s.StrictOrder, over.StrictOrder)
	s.Batch = s.Batch.with(over.Batch)
	replace(&s.Limits, over.Limits)
	s.Errors = overlayErrors(s.Errors, over.Errors)
	s.Redrive = s.Redrive.With(over.Redrive)
	replace(&s.Priority, over.Priority)
	return s
}

// replace replaces dst if v is written, also by zero: a jitter of 0 is a choice.
func replace[T any](dst *Value[T], v Value[T]) {
	if v.Written() {
		*dst = v
	}
}

// With returns r with everything replaced that is written in over.
func (r Retry) With(over Retry) Retry {
	replace(&r.MaxAttempts, over.MaxAttempts)
	replace(&r.Backoff, over.Backoff)
	replace(&r.BaseDelay, over.BaseDelay)
	replace(&r.MaxDelay, over.MaxDelay)
	replace(&r.Multiplier, over.Multiplier)
	replace(&r.Jitter, over.Jitter)
	return r
}

func (b Breaker) with(over Breaker) Breaker {
	replace(&b.Off, over.Off)
	replace(&b.Threshold, over.Threshold)
	replace(&b.MinSamples, over.MinSamples)
	replace(&b.Window, over.Window)
	replace(&b.OpenFor, over.OpenFor)
	replace(&b.By, over.By)
	return b
}

func (b Batch) with(over Batch) Batch {
	replace(&b.Size, over.Size)
	replace(&b.Wait, over.Wait)
	return b
}

// With returns d with everything replaced that is written in over.
func (d Redrive) With(over Redrive) Redrive {
	replace(&d.Off, over.Off)
	replace(&d.Reasons, over.Reasons)
	replace(&d.Every, over.Every)
	replace(&d.Max, over.Max)
	return d
}

// overlayErrors puts the rules of a more specific place in front of those that
// are inherited. A class that both have is one rule, retried by the fields of
// both, unless the more specific one is permanent.
func overlayErrors(inherited, own []*ErrorRule) []*ErrorRule {
	if len(own) == 0 {
		return inherited
	}
	var rules []*ErrorRule
	for _, rule := range own {
		merged := *rule
		if before := ruleFor(inherited, rule.Class.V); before != nil && !rule.Permanent.V {
			merged.Retry = before.Retry.With(rule.Retry)
		}
		rules = append(rules, &merged)
	}
	for _, rule := range inherited {
		if ruleFor(own, rule.Class.V) == nil {
			rules = append(rules, rule)
		}
	}
	return rules
}

func ruleFor(rules []*ErrorRule, class string) *ErrorRule {
	if i := slices.IndexFunc(rules, func(rule *ErrorRule) bool { return rule.Class.V == class }); i >= 0 {
		return rules[i]
	}
	return nil
}
