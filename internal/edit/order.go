package edit

import (
	"slices"

	"github.com/busgen/busgen/internal/setting"
)

// A context describes a kind of mapping: the order of its keys, and the contexts of their values.
type context struct {
	keys  []string            // in canonical order; nil for names, which keep their order
	below map[string]*context // by key
	each  *context            // for the values of names
}

// The contexts of the language.
var (
	retryKeys    = &context{keys: []string{"max_attempts", "max_retries", "backoff", "base_delay", "multiplier", "max_delay", "jitter"}}
	breakerKeys  = &context{keys: []string{"threshold", "min_samples", "window", "open_for", "by"}}
	redriveKeys  = &context{keys: []string{"reasons", "every", "max"}}
	batchKeys    = &context{keys: []string{"size", "wait"}}
	limitKeys    = &context{keys: []string{"doc", "go_name", "at_once", "rate"}}
	useKeys      = &context{each: &context{keys: []string{"limit", "by"}}}
	classKeys    = &context{keys: []string{"retry"}, below: map[string]*context{"retry": retryKeys}}
	settingBelow = map[string]*context{"retry": retryKeys, "errors": {each: classKeys}, "breaker": breakerKeys, "batch": batchKeys, "limits": useKeys, "redrive": redriveKeys}
	settingKeys  = &context{keys: setting.Keys, below: settingBelow}

	headerKeys = &context{each: &context{keys: []string{"type", "doc", "go_name", "required"}}}
	policyKeys = &context{
		keys: append([]string{"headers"}, setting.Keys...),
		below: map[string]*context{
			"headers": headerKeys, "retry": retryKeys, "errors": settingBelow["errors"], "breaker": breakerKeys, "batch": batchKeys, "limits": settingBelow["limits"], "redrive": redriveKeys,
		},
	}

	groupKeys = &context{keys: []string{"doc", "aliases"}}

	fieldKeys = &context{keys: []string{
		"type", "doc", "deprecated", "go_name", "json", "was", "min", "max", "min_length", "max_length", "pattern", "format",
		"min_items", "max_items", "unique", "items", "values", "sensitive", "personal", "default", "reserved", "mixins", "fields",
	}}
	eachKeys   = &context{keys: []string{"min", "max", "min_length", "max_length", "pattern", "format", "min_items", "max_items", "unique", "items", "values"}}
	fieldNames = &context{each: fieldKeys}
	typeKeys   = &context{
		keys: []string{"doc", "deprecated", "go_name", "schema", "json_names", "go", "type", "min", "max", "min_length", "max_length", "pattern", "format", "discriminator", "one_of", "reserved", "mixins", "fields", "enum"},
		below: map[string]*context{
			"fields": fieldNames, "go": {keys: []string{"import", "type"}},
			"one_of": {each: &context{keys: []string{"doc", "deprecated", "go_name", "reserved", "mixins", "fields"}, below: map[string]*context{"fields": fieldNames}}},
			"enum":   {each: &context{keys: []string{"number", "doc", "deprecated", "go_name"}}},
		},
	}
	subscriptionKeys = &context{keys: slices.Concat([]string{"doc", "go_name", "aliases", "group"}, setting.SubscriptionKeys), below: settingBelow}
	patternKeys      = &context{keys: slices.Concat([]string{"doc", "go_name", "aliases", "pattern", "group"}, setting.PatternKeys), below: settingBelow}
	eventKeys        = &context{
		keys: slices.Concat(
			[]string{"doc", "deprecated", "owner", "tags", "go_name", "wire", "schema", "aliases", "version", "json_names", "partition_by", "dedupe_by", "await_by"},
			setting.Keys, []string{"reserved", "mixins", "payload", "result", "examples", "history", "subscriptions"},
		),
		below: map[string]*context{
			"retry": retryKeys, "errors": settingBelow["errors"], "breaker": breakerKeys, "batch": batchKeys, "limits": settingBelow["limits"], "redrive": redriveKeys,
			"payload": fieldNames, "result": {keys: []string{"type", "doc"}}, "subscriptions": {each: subscriptionKeys},
			"history": {each: &context{keys: []string{"doc", "json_names", "mixins", "payload"}, below: map[string]*context{"payload": fieldNames}}},
		},
	}
	rootKeys = &context{
		keys: []string{"version", "package", "import_path", "test_kit", "include", "imports", "initialisms", "go_types", "json_names", "cloudevents", "lint", "accepted", "limits", "headers", "defaults", "policies", "types", "events", "subscriptions", "groups", "schedules"},
		below: map[string]*context{
			"cloudevents": {keys: []string{"source", "type_prefix", "dataschema"}},
			"imports":     {each: &context{keys: []string{"catalogue", "import_path"}}},
			"limits":      {each: limitKeys},
			"headers":     headerKeys,
			"lint":        {each: &context{keys: []string{"severity", "except"}}}, "defaults": settingKeys, "policies": {each: policyKeys},
			"types": {each: typeKeys}, "events": {each: eventKeys},
			"subscriptions": {each: patternKeys},
			"groups":        {each: groupKeys},
			"schedules":     {each: &context{keys: []string{"doc", "event", "cron", "every", "time_zone", "missed", "payload"}}},
		},
	}
)

func init() {
	eachKeys.below = map[string]*context{"items": eachKeys, "values": eachKeys}
	fieldKeys.below = map[string]*context{"fields": fieldNames, "items": eachKeys, "values": eachKeys} // fields of a struct in place
}

// of returns the context of the value of a key. It is never nil.
func (c *context) of(key string) *context {
	next := c.below[key]
	if next == nil {
		next = c.each
	}
	if next == nil {
		return &context{}
	}
	return next
}

// rank returns the place of a key. Unknown keys come last.
func (c *context) rank(key string) int {
	if i := slices.Index(c.keys, key); i >= 0 {
		return i
	}
	return len(c.keys)
}
