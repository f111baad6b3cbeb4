package catalog

import (
	"cmp"
	"errors"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/format"
)

// constraintKeys are the keys of a field that narrow down its values.
var constraintKeys = []string{
	"min", "max", "min_length", "max_length", "pattern", "format", "min_items", "max_items", "unique",
}

// constrained says for each constraint which types it is for.
var constrained = map[string]struct {
	takes func(*TypeRef) bool
	nouns string
}{
	"min":        {(*TypeRef).isOrdered, "numbers, decimals and durations"},
	"max":        {(*TypeRef).isOrdered, "numbers, decimals and durations"},
	"min_length": {(*TypeRef).hasLength, "string and bytes"},
	"max_length": {(*TypeRef).hasLength, "string and bytes"},
	"pattern":    {(*TypeRef).isText, "string"},
	"format":     {(*TypeRef).isText, "string"},
	"min_items":  {(*TypeRef).isCollection, "lists and maps"},
	"max_items":  {(*TypeRef).isCollection, "lists and maps"},
	"unique":     {(*TypeRef).isComparableList, "lists of numbers, texts, dates, durations, UUIDs and enums"},
}

func (t *TypeRef) isOrdered() bool {
	switch t.Kind {
	case Int, Int32, Int64, Uint64, Float64, Decimal, Duration:
		return true
	}
	return false
}

func (t *TypeRef) hasLength() bool    { return t.Kind == String || t.Kind == Bytes }
func (t *TypeRef) isText() bool       { return t.Kind == String }
func (t *TypeRef) isCollection() bool { return t.Kind == List || t.Kind == Map }

func (t *TypeRef) isComparableList() bool {
	if t.Kind != List {
		return false
	}
	switch t.Elem.Kind {
	case String, Bool, Int, Int32, Int64, Uint64, Float64, Date, Duration, UUID, Decimal:
		return true
	case Named:
		return t.Elem.Named.IsEnum()
	}
	return false
}

// The limits of lengths and numbers of items.
const (
	limitLength = 1 << 30
	limitItems  = 1 << 20
)

// constraints reads what o says about the values of a field of type t.
func (r *reader) constraints(o object, t *TypeRef) Constraints {
	var c Constraints
	for _, key := range constraintKeys {
		e, ok := o.entries[key]
		if !ok {
			continue
		}
		if fit := constrained[key]; !fit.takes(t) {
			r.report(r.place(e.key), rules.Constraint, "%s of %s does not fit its type %s", key, o.what, t.Text).
				See(r.typeAt(t), "the type is here").
				Hint = "it is for " + fit.nouns + otherConstraint(key, t)
			continue
		}
		r.constraint(&c, e, o.what, t)
	}
	r.checkBounds(o, t, c)
	return c
}

// otherConstraint names the key that somebody may have meant.
func otherConstraint(key string, t *TypeRef) string {
	bound, _, _ := strings.Cut(key, "_")
	switch {
	case bound != "min" && bound != "max":
	case t.isCollection():
		return "; items are counted by " + bound + "_items"
	case t.hasLength():
		return "; a length is bounded by " + bound + "_length"
	case t.isOrdered():
		return "; a value is bounded by " + bound
	}
	return ""
}

func (r *reader) constraint(c *Constraints, e entry, what string, t *TypeRef) {
	switch e.name {
	case "min":
		c.Min = r.bound(e, what, t)
	case "max":
		c.Max = r.bound(e, what, t)
	case "min_length":
		c.MinLength = r.count(e, what, 0, limitLength, "it counts characters")
	case "max_length":
		c.MaxLength = r.count(e, what, 0, limitLength, "it counts characters")
	case "min_items":
		c.MinItems = r.count(e, what, 0, limitItems, "it counts items")
	case "max_items":
		c.MaxItems = r.count(e, what, 0, limitItems, "it counts items")
	case "pattern":
		c.Pattern = r.pattern(e, what)
	case "format":
		c.Format = oneOf(r, object{what: what, entries: map[string]entry{"format": e}}, "format", Formats(), func(word string) (string, bool) {
			return word, slices.Contains(Formats(), word)
		})
	case "unique":
		c.Unique = r.truth(e, what)
	}
}

// bound reads a limit, which is a value of the type that it bounds.
func (r *reader) bound(e entry, what string, t *TypeRef) Value[string] {
	bare := *t
	bare.Optional = false
	text, ok := r.payload(e.value, e.name+" of "+what, &bare, true, rules.Constraint)
	if !ok {
		return Value[string]{}
	}
	return Value[string]{V: strings.Trim(string(text), `"`), Pos: r.position(e.value)}
}

// maxPattern is how long a pattern may be, in bytes.
const maxPattern = 1000

func (r *reader) pattern(e entry, what string) Value[string] {
	v, ok := r.text(e.value, "pattern of "+what)
	if !ok {
		return v
	}
	at := r.place(e.value)
	if len(v.V) > maxPattern {
		r.report(at, rules.Constraint, "pattern of %s is longer than %d bytes", what, maxPattern)
		return v
	}
	if _, err := regexp.Compile(v.V); err != nil {
		reason := err.Error()
		if wrong := (*syntax.Error)(nil); errors.As(err, &wrong) {
			reason = wrong.Code.String()
			if i := strings.Index(v.V, wrong.Expr); i >= 0 && wrong.Expr != "" {
				at = r.placeIn(e.value, i, len(wrong.Expr))
			}
		}
		r.report(at, rules.Constraint, "pattern of %s is not a regular expression: %s", what, reason).
			Hint = "the syntax is that of RE2, which Go uses"
	}
	return v
}

// truth reads true or false.
func (r *reader) truth(e entry, what string) Value[bool] {
	var b bool
	if e.value.Kind != yaml.ScalarNode || e.value.ShortTag() != "!!bool" || e.value.Decode(&b) != nil {
		r.wrongKind(e.value, e.name+" of "+what, "true or false")
		return Value[bool]{}
	}
	return Value[bool]{V: b, Pos: r.position(e.value)}
}

// checkBounds reports bounds that no value can keep.
func (r *reader) checkBounds(o object, t *TypeRef, c Constraints) {
	crossed := func(least, most string, wrong bool) {
		if wrong {
			r.report(r.place(o.entries[most].value), rules.Constraint, "%s of %s is below its %s", most, o.what, least).
				See(r.place(o.entries[least].value), "%s is here", least).
				Hint = "no value is between them"
		}
	}
	crossed("min", "max", c.Min.Written() && c.Max.Written() && compareScalars(t.Kind, c.Min.V, c.Max.V) > 0)
	crossed("min_length", "max_length", c.MaxLength.Written() && c.MinLength.V > c.MaxLength.V)
	crossed("min_items", "max_items", c.MaxItems.Written() && c.MinItems.V > c.MaxItems.V)
}

// compareScalars compares two values of an ordered kind, in their JSON form without quotes.
func compareScalars(kind Kind, a, b string) int {
	switch kind {
	case Float64:
		x, _ := strconv.ParseFloat(a, 64) // they are valid
		y, _ := strconv.ParseFloat(b, 64)
		return cmp.Compare(x, y)
	case Duration:
		x, _ := time.ParseDuration(a)
		y, _ := time.ParseDuration(b)
		return cmp.Compare(x, y)
	}
	return format.CompareDecimals(a, b)
}
