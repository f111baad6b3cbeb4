// Package names makes names of a catalogue of those that a document has.
package names

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/glob"
)

// Taken are those that are taken.
type Taken map[string]bool

// Unique returns name, with a number behind it if it is taken, and takes it.
func (n Taken) Unique(name string) string {
	free := name
	for i := 2; n[free]; i++ {
		free = fmt.Sprintf("%s%d", name, i)
	}
	n[free] = true
	return free
}

// Words splits a name in any style: orderPlaced, order_placed, Order Placed, HTTPRequest.
// Other characters than ASCII letters and digits are dropped.
func Words(name string) []string {
	var all []string
	var word []rune
	end := func() {
		if len(word) > 0 {
			all = append(all, string(word))
		}
		word = nil
	}
	runes := []rune(name)
	for i, r := range runes {
		if r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			end()
			continue
		}
		capital := unicode.IsUpper(r)
		nextIsSmall := i+1 < len(runes) && unicode.IsLower(runes[i+1]) && !isPlural(runes[i+1:])
		if capital && len(word) > 0 && (!unicode.IsUpper(word[len(word)-1]) || nextIsSmall) {
			end()
		}
		word = append(word, r)
	}
	end()
	return all
}

// isPlural tells the s behind an initialism, as in IDs and userIDsByName.
func isPlural(rest []rune) bool {
	return rest[0] == 's' && (len(rest) == 1 || !unicode.IsLower(rest[1]))
}

// Snake joins words with _; empty if there are none that a name can begin with.
func Snake(name string) string { return Joined(name, "_") }

func Joined(name, separator string) string {
	text := strings.ToLower(strings.Join(Words(name), separator))
	return strings.TrimLeft(text, "0123456789"+separator)
}

// Event makes the name of an event; empty if there is nothing to make it of.
func Event(name string) string {
	if glob.ValidName(name) == nil && len(name) <= MaxMade {
		return name
	}
	var segments []string
	for _, part := range strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("./$:", r) }) {
		if s := Snake(part); s != "" {
			segments = append(segments, s)
		}
	}
	made := strings.Join(segments, ".")
	return strings.TrimRight(made[:min(len(made), MaxMade)], "._")
}

// IsWire tells whether a name can be that of an event on the wire.
func IsWire(name string) bool { return glob.ValidWire(name) == nil }

// MaxMade is how long a name that is made up may be. Names of types in place grow with each struct around them, and a
// key of YAML that is longer than 128 characters has a form of its own.
const MaxMade = 100

// Type makes the name of a type.
func Type(name string) string {
	if catalog.TypeName.MatchString(name) && len(name) <= MaxMade {
		return name
	}
	goName := catalog.GoName(strings.Join(Words(name), "_"))
	if !catalog.TypeName.MatchString(goName) {
		goName = "Type" + goName
	}
	return goName[:min(len(goName), MaxMade)]
}

// Same tells whether a title only repeats a name.
func Same(title, name string) bool {
	return strings.EqualFold(strings.Join(Words(title), ""), strings.Join(Words(name), ""))
}
