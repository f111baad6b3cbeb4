package settings

import (
	"slices"
	"time"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse/files"
	"github.com/busgen/busgen/internal/catalog/parse/names"
	"github.com/busgen/busgen/internal/catalog/parse/text"
	"github.com/busgen/busgen/internal/setting"
)

// builtin returns the settings of an event for which nothing is written.
func builtin() catalog.Settings {
	s := catalog.BuiltinPlain()
	s.Retry, s.Breaker, s.Batch, s.Redrive = builtinRetry(), builtinBreaker(), builtinBatch(), catalog.BuiltinRedrive()
	return s
}

// Settings reads how events are delivered, as it is written in one place, and declares what that names.
type Settings struct {
	*text.Reader
	names   *names.Names
	parts   *files.Parts
	limits  map[string]*catalog.Limit // by name, and those with a broken body, too
	classes []*catalog.ErrorClass     // the error classes so far
}

// New returns a reader of settings.
func New(names *names.Names, parts *files.Parts) *Settings {
	return &Settings{Reader: names.Reader, names: names, parts: parts, limits: map[string]*catalog.Limit{}}
}

// Of reads the settings that are written in o. The others stay zero, without a position.
func (r *Settings) Of(o text.Object) catalog.Settings {
	var s catalog.Settings
	if e, ok := o.Entries["retry"]; ok {
		s.Retry = r.retry(e, "retry of "+o.What)
	}
	for i, row := range setting.Plain {
		r.plain(o, row, s.Field(i))
	}
	s.Breaker = r.breaker(o)
	s.Batch = r.batch(o)
	s.Limits = r.limitUses(o)
	s.Errors = r.errorRules(o)
	s.Redrive = r.redrive(o)
	s.Priority = text.OneOf(r.Reader, o, "priority", catalog.PriorityWords, func(word string) (catalog.Priority, bool) {
		i := slices.Index(catalog.PriorityWords, word)
		return catalog.Priority(i), i >= 0
	})
	return s
}

// plain reads a plain setting into its field.
func (r *Settings) plain(o text.Object, row *setting.Row, field any) {
	switch field := field.(type) {
	case *catalog.Value[time.Duration]:
		*field = r.Duration(o, row.Key, text.Span{Least: time.Duration(row.Least), Most: time.Duration(row.Most), OrOff: row.Off})
	case *catalog.Value[bool]:
		*field = r.Flag(o, row.Key)
	case *catalog.Value[int]:
		if row.Off {
			*field = r.CountOrOff(o, row.Key, int(row.Most), row.Meaning)
		} else {
			*field = r.Count(o, row.Key, int(row.Least), int(row.Most), row.Meaning)
		}
	}
}

// ReadDefaults reads `defaults:` of the root.
func (r *Settings) ReadDefaults(root text.Object) (defaults catalog.Settings) {
	if e, ok := root.Entries["defaults"]; ok {
		o, _ := r.Object(e.Value, "defaults", setting.Keys...)
		defaults = r.Of(o)
	}
	return defaults
}
