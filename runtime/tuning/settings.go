package tuning

import (
	"cmp"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/runtime"
)

// settingsOf returns settings of the catalogue as generated code writes them.
func settingsOf(s catalog.Settings) runtime.Settings {
	settings := runtime.Settings{
		Retry:           s.Policy(),
		Timeout:         s.Timeout.V,
		SlowAfter:       s.SlowAfter.V,
		ExpiresAfter:    s.ExpiresAfter.V,
		MaxSnoozes:      s.MaxSnoozes.V,
		Breaker:         s.Breaker.Policy(),
		FailureThrottle: s.FailureThrottle.V,
		Concurrency:     concurrency(s.Concurrency.V),
		StrictOrder:     s.StrictOrder.V,
	}
	if s.Batch.Written() { // generated code leaves out what is built in
		settings.Batch = runtime.Batch{Size: s.Batch.Size.V, Wait: s.Batch.Wait.V}
	}
	if s.SlowEventAfter.Written() { // else the bus decides
		settings.SlowEventAfter = cmp.Or(s.SlowEventAfter.V, runtime.Forever)
	}
	for _, use := range s.Limits.V {
		settings.Limits = append(settings.Limits, runtime.LimitUse{Limit: use.Limit.Name.V, By: use.By.V})
	}
	for _, rule := range s.Errors {
		settings.Errors = append(settings.Errors, runtime.ErrorRule{
			Class: rule.Class.V, Permanent: rule.Permanent.V, Retry: rule.Retry.Options(),
		})
	}
	settings.Redrive = redriveOf(s.Redrive)
	return settings
}

func redriveOf(d catalog.Redrive) runtime.Redrive {
	if d.Off.V {
		return runtime.Redrive{}
	}
	return runtime.Redrive{Reasons: d.Reasons.V, Every: d.Every.V, Max: d.Max.V}
}

// concurrency is 0 for one handler at a time, which generated code leaves out.
func concurrency(n int) int {
	if n == 1 {
		return 0
	}
	return n
}

var priorities = map[catalog.Priority]runtime.Priority{
	catalog.Normal:   runtime.PriorityNormal,
	catalog.High:     runtime.PriorityHigh,
	catalog.Low:      runtime.PriorityLow,
	catalog.Critical: runtime.PriorityCritical,
}
