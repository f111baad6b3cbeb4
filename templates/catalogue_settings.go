package templates

import (
	"strconv"
	"time"

	"github.com/dave/jennifer/jen"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/retry"
)

// settings emits
//
//	runtime.Settings{
//		Retry:        <policy>,
//		Timeout:      <duration>,
//		SlowAfter:    <duration>,
//		SlowEventAfter: <duration>, // or runtime.Forever
//		ExpiresAfter: <duration>,
//		MaxSnoozes:   <n>,
//		Breaker:      <breaker>,
//		FailureThrottle: <n>,
//		Concurrency:  <n>,
//		StrictOrder:  true,
//		Batch:        runtime.Batch{Size: <n>, Wait: <duration>},
//		Limits:       <uses of limits>,
//		Errors:       <error rules>,
//		Redrive:      <redrive>,
//	}
//
// without settings that are off. All others are written out, also inherited ones, so that
// the numbers can be read without the catalogue. A SlowEventAfter is there if the catalogue has one, and
// runtime.Forever if that is off: without it, an option of the bus decides.
func settings(s catalog.Settings) *jen.Statement {
	fields := []jen.Code{
		pair("Retry", policy(s.Policy())),
	}
	add := func(on bool, field string, value jen.Code) {
		if on {
			fields = append(fields, pair(field, value))
		}
	}
	add(s.Timeout.V > 0, "Timeout", duration(s.Timeout.V))
	add(s.SlowAfter.V > 0, "SlowAfter", duration(s.SlowAfter.V))
	add(s.SlowEventAfter.Written(), "SlowEventAfter", orForever(s.SlowEventAfter.V))
	add(s.ExpiresAfter.V > 0, "ExpiresAfter", duration(s.ExpiresAfter.V))
	add(s.MaxSnoozes.V > 0, "MaxSnoozes", jen.Lit(s.MaxSnoozes.V))
	add(true, "Breaker", breakerPolicy(s.Breaker.Policy()))
	add(s.FailureThrottle.V > 0, "FailureThrottle", jen.Lit(s.FailureThrottle.V))
	add(s.Concurrency.V > 1, "Concurrency", jen.Lit(s.Concurrency.V))
	add(s.StrictOrder.V, "StrictOrder", jen.True())
	add(s.Batch.Written(), "Batch", batch(s.Batch))
	add(len(s.Limits.V) > 0, "Limits", limitUses(s.Limits.V))
	add(len(s.Errors) > 0, "Errors", errorRules(s.Errors))
	add(!s.Redrive.Off.V, "Redrive", redrive(s.Redrive))
	return inRuntime("Settings").Custom(linesInBraces, fields...)
}

func orForever(d time.Duration) *jen.Statement {
	if d == 0 {
		return inRuntime("Forever")
	}
	return duration(d)
}

// batch emits
//
//	runtime.Batch{Size: <n>, Wait: <duration>}
func batch(b catalog.Batch) *jen.Statement {
	return inRuntime("Batch").Values(pair("Size", jen.Lit(b.Size.V)), pair("Wait", duration(b.Wait.V)))
}

// policy emits
//
//	retry.Policy{MaxAttempts: <n>, Backoff: retry.<Shape>, BaseDelay: <duration>, MaxDelay: <duration>, Multiplier: <m>, Jitter: <j>}
func policy(p retry.Policy) *jen.Statement {
	return jen.Qual(retryPath, "Policy").Values(
		pair("MaxAttempts", jen.Lit(p.MaxAttempts)),
		pair("Backoff", backoff(p.Backoff)),
		pair("BaseDelay", duration(p.BaseDelay)),
		pair("MaxDelay", duration(p.MaxDelay)),
		pair("Multiplier", number(p.Multiplier)),
		pair("Jitter", number(p.Jitter)),
	)
}

// backoff emits
//
//	retry.<Shape>
func backoff(b retry.Backoff) *jen.Statement {
	return jen.Qual(retryPath, map[retry.Backoff]string{
		retry.Exponential: "Exponential",
		retry.Linear:      "Linear",
		retry.Constant:    "Constant",
		retry.None:        "None",
	}[b])
}

// breakerPolicy emits
//
//	breaker.Policy{Threshold: <share>, MinSamples: <n>, Window: <duration>, OpenFor: <duration>}
//
// with Off: true in front for a breaker that is off.
func breakerPolicy(p breaker.Policy) *jen.Statement {
	var fields []jen.Code
	if p.Off {
		fields = append(fields, pair("Off", jen.True()))
	}
	return jen.Qual(breakerPath, "Policy").Values(append(fields,
		pair("Threshold", number(p.Threshold)),
		pair("MinSamples", jen.Lit(p.MinSamples)),
		pair("Window", duration(p.Window)),
		pair("OpenFor", duration(p.OpenFor)),
	)...)
}

// errorRules emits
//
//	[]runtime.ErrorRule{
//		{Class: Error<Class>, Permanent: true},
//		{Class: Error<Class>, Retry: []retry.Option{retry.<Field>(<value>)}},
//	}
func errorRules(rules []*catalog.ErrorRule) *jen.Statement {
	var items []jen.Code
	for _, rule := range rules {
		fields := []jen.Code{pair("Class", jen.Id(rule.GoName))}
		if rule.Permanent.V {
			fields = append(fields, pair("Permanent", jen.True()))
		}
		if opts := retryOptions(rule.Retry); len(opts) > 0 {
			fields = append(fields, pair("Retry", jen.Index().Qual(retryPath, "Option").Values(opts...)))
		}
		items = append(items, jen.Values(fields...))
	}
	return jen.Index().Add(inRuntime("ErrorRule")).Custom(linesInBraces, items...)
}

// retryOptions emits one option for each field that is written.
func retryOptions(r catalog.Retry) []jen.Code {
	var opts []jen.Code
	add := func(written bool, option string, value jen.Code) {
		if written {
			opts = append(opts, jen.Qual(retryPath, option).Call(value))
		}
	}
	add(r.MaxAttempts.Written(), "MaxAttempts", jen.Lit(r.MaxAttempts.V))
	add(r.Backoff.Written(), "WithBackoff", backoff(r.Backoff.V))
	add(r.BaseDelay.Written(), "BaseDelay", duration(r.BaseDelay.V))
	add(r.MaxDelay.Written(), "MaxDelay", duration(r.MaxDelay.V))
	add(r.Multiplier.Written(), "Multiplier", number(r.Multiplier.V))
	add(r.Jitter.Written(), "Jitter", number(r.Jitter.V))
	return opts
}

// redrive emits
//
//	runtime.Redrive{Reasons: []string{"<reason>"}, Every: <duration>, Max: <n>}
//
// without reasons if it is for all reasons.
func redrive(d catalog.Redrive) *jen.Statement {
	var fields, reasons []jen.Code
	for _, reason := range d.Reasons.V {
		reasons = append(reasons, jen.Lit(reason))
	}
	if reasons != nil {
		fields = append(fields, pair("Reasons", jen.Index().String().Values(reasons...)))
	}
	return inRuntime("Redrive").Values(append(fields, pair("Every", duration(d.Every.V)), pair("Max", jen.Lit(d.Max.V)))...)
}

// errorClasses emits
//
//	// The error classes for which the catalogue has rules. …
//	const (
//		Error<Class> string = "<class>"
//	)
func errorClasses(c *catalog.Catalogue) *jen.Statement {
	var names []jen.Code
	for _, class := range c.ErrorClasses {
		names = append(names, jen.Id(class.GoName).String().Op("=").Lit(class.Name.V))
	}
	return comment("The error classes for which the catalogue has rules. Register each with [runtime.WithErrorClass], which says which errors belong to it: " +
		"without that, its rules never apply.").
		Const().Defs(names...)
}

func pair(field string, value jen.Code) jen.Code { return jen.Id(field).Op(":").Add(value) }

// number emits a constant the way a person writes it: 2 and 0.1, where
// jennifer would write 2.0.
func number(f float64) *jen.Statement { return jen.Op(strconv.FormatFloat(f, 'g', -1, 64)) }

// duration emits
//
//	<n> * time.<Unit>
//
// in the largest unit that divides it, or just the unit for n = 1.
func duration(d time.Duration) *jen.Statement {
	units := []struct {
		size time.Duration
		name string
	}{
		{time.Hour, "Hour"}, {time.Minute, "Minute"}, {time.Second, "Second"},
		{time.Millisecond, "Millisecond"}, {time.Microsecond, "Microsecond"}, {time.Nanosecond, "Nanosecond"},
	}
	for _, unit := range units {
		switch {
		case d == unit.size:
			return jen.Qual("time", unit.name)
		case d != 0 && d%unit.size == 0:
			return jen.Lit(int(d/unit.size)).Op("*").Qual("time", unit.name)
		}
	}
	return jen.Lit(0)
}
