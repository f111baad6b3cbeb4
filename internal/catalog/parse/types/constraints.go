package types

import (
	"errors"
	"regexp/syntax"
	"strings"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse/text"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/format"
)

// constraintKeys are the keys of a field that narrow down its values.
var constraintKeys = []string{
	"min", "max", "min_length", "max_length", "pattern", "format", "min_items", "max_items", "unique", "items", "values",
}

// constrained says for each constraint which types it is for.
var constrained = map[string]struct {
	takes func(*catalog.TypeRef) bool
	nouns string
}{
	"min":        {isOrdered, "numbers, decimals and durations"},
	"max":        {isOrdered, "numbers, decimals and durations"},
	"min_length": {hasLength, "string and bytes"},
	"max_length": {hasLength, "string and bytes"},
	"pattern":    {isText, "string"},
	"format":     {isText, "string"},
	"min_items":  {(*catalog.TypeRef).IsCollection, "lists and maps"},
	"max_items":  {(*catalog.TypeRef).IsCollection, "lists and maps"},
	"unique":     {isComparableList, "lists of numbers, strings, dates, durations, UUIDs and enums"},
	"items":      {func(t *catalog.TypeRef) bool { return t.Kind == catalog.List }, "lists"},
	"values":     {func(t *catalog.TypeRef) bool { return t.Kind == catalog.Map }, "maps"},
}

func isOrdered(t *catalog.TypeRef) bool {
	switch t.Kind {
	case catalog.Int, catalog.Int32, catalog.Int64, catalog.Uint64, catalog.Float64, catalog.Decimal, catalog.Duration:
		return true
	}
	return false
}

func hasLength(t *catalog.TypeRef) bool { return t.Kind == catalog.String || t.Kind == catalog.Bytes }
func isText(t *catalog.TypeRef) bool    { return t.Kind == catalog.String }

func isComparableList(t *catalog.TypeRef) bool {
	if t.Kind != catalog.List {
		return false
	}
	switch t.Elem.Kind {
	case catalog.String, catalog.Bool, catalog.Int, catalog.Int32, catalog.Int64, catalog.Uint64, catalog.Float64,
		catalog.Date, catalog.Duration, catalog.UUID, catalog.Decimal:
		return true
	case catalog.Named:
		return t.Elem.Named.IsEnum()
	}
	return false
}

// The limits of lengths and numbers of items.
const (
	limitLength = 1 << 30
	limitItems  = 1 << 20
)

// A constraintReader reads what an object says about values of one type.
type constraintReader struct {
	*text.Reader
	o text.Object
	t *catalog.TypeRef
}

// constraints reads what o says about the values of a field of type t.
func constraints(of *text.Reader, o text.Object, t *catalog.TypeRef) (c catalog.Constraints) {
	r := constraintReader{of, o, t}
	for _, key := range constraintKeys {
		e, ok := o.Entries[key]
		if !ok {
			continue
		}
		if t.Scalar != nil {
			r.Report(r.Place(e.Key), rules.Constraint, "%s of %s cannot be used with its type %s, which says itself which values it has", key, o.What, t.Text).
				See(r.TypeAt(t), "the type is here").
				Hint = "give it to type " + t.Scalar.Name.V + ", or declare another one"
			continue
		}
		if fit := constrained[key]; !fit.takes(t) {
			r.Report(r.Place(e.Key), rules.Constraint, "%s of %s cannot be used with its type %s", key, o.What, t.Text).
				See(r.TypeAt(t), "the type is here").
				Hint = "it is for " + fit.nouns + otherConstraint(key, t)
			continue
		}
		r.constraint(&c, e)
	}
	r.checkBounds(c)
	return c
}

// otherConstraint names the key that was probably meant.
func otherConstraint(key string, t *catalog.TypeRef) string {
	bound, _, _ := strings.Cut(key, "_")
	isBound := bound == "min" || bound == "max"
	each := catalog.EachWord(t.Kind)
	switch {
	case t.IsCollection() && (key == "items" || key == "values"):
		return "; the word for this one is " + each
	case t.IsCollection() && key == "unique":
	case t.IsCollection() && isBound:
		return "; items are counted by " + bound + "_items, and " + key + " under " + each + " is for each of them"
	case t.IsCollection():
		return "; " + key + " under " + each + " is for each of them"
	case !isBound:
	case hasLength(t):
		return "; a length is bounded by " + bound + "_length"
	case isOrdered(t):
		return "; a value is bounded by " + bound
	}
	return ""
}

func (r *constraintReader) constraint(c *catalog.Constraints, e text.Entry) {
	switch e.Name {
	case "min":
		c.Min = r.bound(e)
	case "max":
		c.Max = r.bound(e)
	case "min_length":
		c.MinLength = r.Count(r.o, e.Name, 0, limitLength, "it counts characters")
	case "max_length":
		c.MaxLength = r.Count(r.o, e.Name, 0, limitLength, "it counts characters")
	case "min_items":
		c.MinItems = r.Count(r.o, e.Name, 0, limitItems, "it counts items")
	case "max_items":
		c.MaxItems = r.Count(r.o, e.Name, 0, limitItems, "it counts items")
	case "pattern":
		c.Pattern = r.pattern(e)
	case "format":
		c.Format = r.Word(r.o, e.Name, format.Names())
	case "unique":
		c.Unique = r.Flag(r.o, e.Name)
	case "items", "values":
		c.Each = r.each(e)
	}
}

// each reads the constraints of what is in a list or a map. It returns nil for none.
func (r *constraintReader) each(e text.Entry) *catalog.Constraints {
	inner, ok := r.Object(e.Value, e.Name+" of "+r.o.What, constraintKeys...)
	if ok && len(e.Value.Content) == 0 {
		r.Report(r.Place(e.Value), rules.Constraint, "%s is empty", inner.What).
			Hint = "write the constraints of each, as in " + e.Name + ": { max_length: 100 }, or remove the key"
	}
	if c := constraints(r.Reader, inner, r.t.Elem); c != (catalog.Constraints{}) {
		return &c
	}
	return nil
}

// bound reads a limit, which is a value of the type that it bounds.
func (r *constraintReader) bound(e text.Entry) catalog.Value[catalog.Bound] {
	text, ok := JSON(r.Reader, e.Value, e.Name+" of "+r.o.What, r.t.Bare(), true, rules.Constraint)
	if !ok {
		return catalog.Value[catalog.Bound]{}
	}
	bound := catalog.NewBound(r.t.Kind, strings.Trim(string(text), `"`))
	return catalog.Value[catalog.Bound]{V: bound, Pos: r.Position(e.Value)}
}

// maxPattern limits the bytes of a pattern.
const maxPattern = 1000

func (r *constraintReader) pattern(e text.Entry) catalog.Value[catalog.Pattern] {
	v, ok := r.Text(e.Value, "pattern of "+r.o.What)
	if !ok {
		return catalog.Value[catalog.Pattern]{}
	}
	at := r.Place(e.Value)
	if len(v.V) > maxPattern {
		r.Report(at, rules.Constraint, "pattern of %s is longer than %d bytes", r.o.What, maxPattern)
		return catalog.Value[catalog.Pattern]{}
	}
	pattern, err := catalog.NewPattern(v.V)
	if err != nil {
		reason := err.Error()
		if wrong := (*syntax.Error)(nil); errors.As(err, &wrong) {
			reason = wrong.Code.String()
			if i := strings.Index(v.V, wrong.Expr); i >= 0 && wrong.Expr != "" {
				at = r.PlaceIn(e.Value, i, len(wrong.Expr))
			}
		}
		r.Report(at, rules.Constraint, "pattern of %s is not a regular expression: %s", r.o.What, reason).
			Hint = "the syntax is that of RE2, which Go uses"
		return catalog.Value[catalog.Pattern]{}
	}
	return catalog.Value[catalog.Pattern]{V: pattern, Pos: v.Pos}
}

// checkBounds reports bounds that no value can keep.
func (r *constraintReader) checkBounds(c catalog.Constraints) {
	crossed := func(least, most string, wrong bool) {
		if wrong {
			r.Report(r.Place(r.o.Entries[most].Value), rules.Constraint, "%s of %s is below its %s", most, r.o.What, least).
				See(r.Place(r.o.Entries[least].Value), "%s is here", least).
				Hint = "no value satisfies both: correct one of them"
		}
	}
	crossed("min", "max", c.Min.Written() && c.Max.Written() && c.Min.V.Compare(c.Max.V) > 0)
	crossed("min_length", "max_length", c.MaxLength.Written() && c.MinLength.V > c.MaxLength.V)
	crossed("min_items", "max_items", c.MaxItems.Written() && c.MinItems.V > c.MaxItems.V)
}
