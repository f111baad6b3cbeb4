package tuning

import (
	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/setting"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
)

// settingsOf returns settings that are in force by the catalogue.
func settingsOf(s catalog.Settings) declare.Settings {
	return declare.DefaultSettings().With(overrideOf(s))
}

var inOverride = setting.FieldsOf[declare.Override]()

// overrideOf returns settings of the catalogue as generated code writes them: those that are written.
func overrideOf(s catalog.Settings) declare.Override {
	o := declare.Override{
		Retry:     s.Retry.Options(),
		Breaker:   s.Breaker.Options(),
		BatchSize: written(s.Batch.Size),
		BatchWait: written(s.Batch.Wait),
		Redrive: declare.RedriveOverride{
			Off: written(s.Redrive.Off), Reasons: s.Redrive.Reasons.V, Every: written(s.Redrive.Every), Max: written(s.Redrive.Max),
		},
	}
	for i, row := range setting.Plain {
		if v := s.Plain(i); v.Written() {
			inOverride.Put(&o, i, row.Value(v.V))
		}
	}
	if s.Limits.Written() {
		o.Limits = []declare.LimitUse{}
	}
	for _, use := range s.Limits.V {
		o.Limits = append(o.Limits, declare.LimitUse{Limit: use.Limit.Name, By: use.By.V})
	}
	for _, rule := range s.Errors {
		o.Errors = append(o.Errors, declare.ErrorRule{Class: rule.Class.V, Permanent: rule.Permanent.V, Retry: rule.Retry.Options()})
	}
	return o
}

// written returns the value, or nil if the catalogue does not say it.
func written[T any](v catalog.Value[T]) *T {
	if !v.Written() {
		return nil
	}
	return &v.V
}

var priorities = map[catalog.Priority]runtime.Priority{
	catalog.Normal:   runtime.PriorityNormal,
	catalog.High:     runtime.PriorityHigh,
	catalog.Low:      runtime.PriorityLow,
	catalog.Critical: runtime.PriorityCritical,
}
