package templates

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/dave/jennifer/jen"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/setting"
	"github.com/busgen/busgen/runtime/retry"
)

// sharedName is the variable that has the settings of several events.
const sharedName = "catalogueSettings"

// shared emits
//
//	// catalogueSettings are the settings that events share: …
//	var catalogueSettings = bind.CatalogueSettings{
//		Headers: <headers>,
//		Defaults: <override>,
//		Priority: new(runtime.Priority<…>),
//		Policies: []bind.Policy{
//			{
//				Pattern: "<pattern>",
//				Headers: <headers>,
//				Settings: <override>,
//				Priority: new(runtime.Priority<…>),
//			},
//		},
//	}
//
// with the policies that match an event of the package. It is there also if it is empty, so that the first
// setting that events share changes only this variable. It is nil if the package has no events.
func shared(c *catalog.Catalogue) *jen.Statement {
	if len(c.Events) == 0 {
		return nil
	}
	var fields, policies []jen.Code
	if len(c.Headers) > 0 {
		fields = append(fields, pair("Headers", headerList(c.Headers)))
	}
	fields = append(fields, overrideField("Defaults", c.Defaults)...)
	fields = append(fields, priorityField(c.Defaults)...)
	for _, p := range c.Policies {
		if !slices.ContainsFunc(c.Events, func(e *catalog.Event) bool { return p.Pattern.Match(e.Label()) }) {
			continue
		}
		policy := []jen.Code{pair("Pattern", jen.Lit(p.Pattern.String()))}
		if len(p.Headers) > 0 {
			policy = append(policy, pair("Headers", headerList(p.Headers)))
		}
		policy = append(policy, overrideField("Settings", p.Settings)...)
		policy = append(policy, priorityField(p.Settings)...)
		policies = append(policies, jen.Custom(linesInBraces, policy...))
	}
	if policies != nil {
		fields = append(fields, pair("Policies", jen.Index().Add(inBind("Policy")).Custom(linesInBraces, policies...)))
	}
	return comment(sharedName+
		" are the settings that events share: the defaults, and those of policies. A policy overrides the defaults, "+
		"a more specific policy a less specific one, and an event overrides all of them, field by field.").
		Var().Id(sharedName).Op("=").Add(inBind("CatalogueSettings")).Custom(linesInBraces, fields...)
}

// override emits
//
//	declare.Override{
//		Retry:       []retry.Option{retry.<Field>(<value>)},
//		<Field>:     new(<duration, count, flag or runtime.Forever>), // of each plain setting
//		Breaker:     []breaker.Option{breaker.<Field>(<value>)},
//		BatchSize:   new(<n>),
//		BatchWait:   new(<duration>),
//		Limits:      <uses of limits>,
//		Errors:      <error rules>,
//		Redrive:     <redrive>,
//	}
//
// with what is written. The runtime inherits the rest.
func override(s catalog.Settings) *jen.Statement {
	return inDeclare("Override").Custom(linesInBraces, overrideFields(s)...)
}

func overrideFields(s catalog.Settings) []jen.Code {
	var fields []jen.Code
	add := func(written bool, field string, value jen.Code) {
		if written {
			fields = append(fields, pair(field, value))
		}
	}
	if opts := retryOptions(s.Retry); len(opts) > 0 {
		fields = append(fields, pair("Retry", jen.Index().Qual(retryPath, "Option").Values(opts...)))
	}
	for i, row := range setting.Plain {
		v := s.Plain(i)
		add(v.Written(), row.Go, newOf(plainSetting(row, row.Value(v.V))))
	}
	if opts := breakerOptions(s.Breaker); len(opts) > 0 {
		fields = append(fields, pair("Breaker", jen.Index().Qual(breakerPath, "Option").Values(opts...)))
	}
	add(s.Batch.Size.Written(), "BatchSize", newOf(jen.Lit(s.Batch.Size.V)))
	add(s.Batch.Wait.Written(), "BatchWait", newOf(span(s.Batch.Wait.V)))
	add(s.Limits.Written(), "Limits", limitUses(s.Limits.V))
	add(len(s.Errors) > 0, "Errors", errorRules(s.Errors))
	if again := redriveFields(s.Redrive); len(again) > 0 {
		fields = append(fields, pair("Redrive", inDeclare("RedriveOverride").Values(again...)))
	}
	return fields
}

// overrideField emits
//
//	<field>: <override>
//
// or nothing if the place sets nothing.
func overrideField(field string, s catalog.Settings) []jen.Code {
	if len(overrideFields(s)) == 0 {
		return nil
	}
	return []jen.Code{pair(field, override(s))}
}

// priorityField emits
//
//	Priority: new(runtime.Priority<…>)
//
// or nothing if the place sets none.
func priorityField(s catalog.Settings) []jen.Code {
	if !s.Priority.Written() {
		return nil
	}
	return []jen.Code{pair("Priority", newOf(inRuntime(priorityNames[s.Priority.V])))}
}

var priorityNames = map[catalog.Priority]string{
	catalog.Critical: "PriorityCritical", catalog.High: "PriorityHigh", catalog.Normal: "PriorityNormal",
	catalog.Low: "PriorityLow",
}

// newOf emits
//
//	new(<value>)
func newOf(value jen.Code) *jen.Statement { return jen.New(value) }

// span emits a duration, of which 0 has its type too.
func span(d time.Duration) *jen.Statement {
	if d == 0 {
		return jen.Qual("time", "Duration").Call(jen.Lit(0))
	}
	return duration(d)
}

// plainSetting emits the value of a plain setting.
func plainSetting(row *setting.Row, n int64) jen.Code {
	switch {
	case row.Kind == setting.Count:
		return jen.Lit(int(n))
	case row.Kind == setting.Flag:
		return jen.Lit(n != 0)
	case n == math.MaxInt64:
		return inRuntime("Forever")
	}
	return span(time.Duration(n))
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

// breakerOptions emits one option for each field that is written.
func breakerOptions(b catalog.Breaker) []jen.Code {
	var opts []jen.Code
	add := func(written bool, option string, value ...jen.Code) {
		if written {
			opts = append(opts, jen.Qual(breakerPath, option).Call(value...))
		}
	}
	add(b.Off.Written() && b.Off.V, "Off")
	add(b.Off.Written() && !b.Off.V, "On")
	add(b.Threshold.Written(), "Threshold", number(b.Threshold.V))
	add(b.MinSamples.Written(), "MinSamples", jen.Lit(b.MinSamples.V))
	add(b.Window.Written(), "Window", duration(b.Window.V))
	add(b.OpenFor.Written(), "OpenFor", duration(b.OpenFor.V))
	add(b.By.Written(), "By", jen.Lit(b.By.V))
	return opts
}

// errorRules emits
//
//	[]declare.ErrorRule{
//		{Class: "<class>", Permanent: true},
//		{Class: "<class>", Retry: []retry.Option{retry.<Field>(<value>)}},
//	}
func errorRules(rules []*catalog.ErrorRule) *jen.Statement {
	var items []jen.Code
	for _, rule := range rules {
		fields := []jen.Code{pair("Class", jen.Lit(rule.Class.V))}
		if rule.Permanent.V {
			fields = append(fields, pair("Permanent", jen.True()))
		}
		if opts := retryOptions(rule.Retry); len(opts) > 0 {
			fields = append(fields, pair("Retry", jen.Index().Qual(retryPath, "Option").Values(opts...)))
		}
		items = append(items, jen.Values(fields...))
	}
	return jen.Index().Add(inDeclare("ErrorRule")).Custom(linesInBraces, items...)
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

// redriveFields emits the fields of
//
//	declare.RedriveOverride{Off: new(<bool>), Reasons: []string{"<reason>"}, Every: new(<duration>), Max: new(<n>)}
//
// that are written.
func redriveFields(d catalog.Redrive) []jen.Code {
	var fields, reasons []jen.Code
	if d.Off.Written() {
		fields = append(fields, pair("Off", newOf(jen.Lit(d.Off.V))))
	}
	for _, reason := range d.Reasons.V {
		reasons = append(reasons, jen.Lit(reason))
	}
	if reasons != nil {
		fields = append(fields, pair("Reasons", jen.Index().String().Values(reasons...)))
	}
	if d.Every.Written() {
		fields = append(fields, pair("Every", newOf(span(d.Every.V))))
	}
	if d.Max.Written() {
		fields = append(fields, pair("Max", newOf(jen.Lit(d.Max.V))))
	}
	return fields
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
	return comment("The error classes for which the catalogue has rules. Register each with [runtime.WithErrorClass], " +
		"which says which errors belong to it: " +
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
