package text

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag/rules"
)

// YAML has numbers in forms that its readers take for different values, such as 010, which is 8
// or 10. A catalogue has those that JSON has, too.
var (
	plainNumber = regexp.MustCompile(`^` + plainWhole + `(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)
	plainInt    = regexp.MustCompile(`^` + plainWhole + `$`)
	infinite    = regexp.MustCompile(`(?i)^[-+]?\.(inf|nan)$`)
)

const plainWhole = `-?(0|[1-9][0-9]*)`

// tagNumbers makes numbers of the texts that the reader of YAML takes for strings because no float64 is as large, as
// 1e400.
func tagNumbers(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && n.Style == 0 && n.ShortTag() == "!!str" && plainNumber.MatchString(n.Value) {
		n.Tag = "!!float"
	}
	for _, inside := range n.Content {
		tagNumbers(inside)
	}
}

// JSONNumber returns a number as JSON has it, or false if it is written in another form.
func JSONNumber(n *yaml.Node) (string, bool) {
	if plainNumber.MatchString(n.Value) && n.Value[0] == '-' && isZero(n.Value) {
		return "0", true
	}
	return n.Value, plainNumber.MatchString(n.Value)
}

// IsInfinite tells whether n is no finite number.
func IsInfinite(n *yaml.Node) bool { return infinite.MatchString(n.Value) }

// isZero tells whether a plain number is 0 or -0. Go has no constant -0, so a catalogue has none either.
func isZero(number string) bool { return !strings.ContainsAny(digits(number), "123456789") }

// digits cuts the exponent off a plain number.
func digits(number string) string {
	if i := strings.IndexAny(number, "eE"); i >= 0 {
		return number[:i]
	}
	return number
}

// IsNumber reports whether YAML takes n for a number.
func IsNumber(n *yaml.Node) bool {
	tag := n.ShortTag()
	return n.Kind == yaml.ScalarNode && (tag == "!!int" || tag == "!!float")
}

// WholeNumber reads the value of e, a key of what.
func (r *Reader) WholeNumber(e Entry, what string) (catalog.Value[int], bool) {
	n := e.Value
	what = e.Name + " of " + what
	if f, ok := valueOf(n); !IsNumber(n) || ok && f != math.Trunc(f) || infinite.MatchString(n.Value) {
		r.WrongKind(n, what, "a whole number")
		return catalog.Value[int]{}, false
	}
	if !plainInt.MatchString(n.Value) {
		r.NotPlain(n, what)
		return catalog.Value[int]{}, false
	}
	i, err := strconv.Atoi(n.Value)
	if err != nil {
		r.Report(r.Place(n), rules.OutOfRange, "%s is far out of range", what)
		return catalog.Value[int]{}, false
	}
	return catalog.Value[int]{V: i, Pos: r.Position(n)}, true
}

// number reads the value of e, a key of what. It may be whole.
func (r *Reader) number(e Entry, what string) (catalog.Value[float64], bool) {
	n := e.Value
	what = e.Name + " of " + what
	switch f, err := strconv.ParseFloat(n.Value, 64); {
	case !IsNumber(n):
		r.WrongKind(n, what, "a number")
	case infinite.MatchString(n.Value) || plainNumber.MatchString(n.Value) && err != nil:
		r.Report(r.Place(n), rules.OutOfRange, "%s is %s, which is not a finite number", what, n.Value)
	case !plainNumber.MatchString(n.Value):
		r.NotPlain(n, what)
	default:
		return catalog.Value[float64]{V: f + 0, Pos: r.Position(n)}, true // -0 is 0
	}
	return catalog.Value[float64]{}, false
}

// NotPlain reports a number that JSON writes in another form.
func (r *Reader) NotPlain(n *yaml.Node, what string) {
	f := r.Report(r.Place(n), rules.Number, "%s is %s, which is not a plain decimal number", what, n.Value)
	value, ok := valueOf(n)
	if !ok {
		return
	}
	f.Hint = "write " + plain(value)
	if decimal, err := strconv.ParseFloat(strings.ReplaceAll(n.Value, "_", ""), 64); err == nil && decimal != value {
		f.Hint = "write " + plain(decimal) + ", or " + plain(value) + " if it is meant to be octal, as some readers of YAML take it"
	}
}

func plain(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// valueOf returns the value of a number in any notation of YAML.
func valueOf(n *yaml.Node) (f float64, ok bool) { return f, n.Decode(&f) == nil }
