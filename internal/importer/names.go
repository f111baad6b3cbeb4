package importer

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/glob"
)

// names are those that are taken.
type names map[string]bool

// unique returns name, with a number behind it if it is taken, and takes it.
func (n names) unique(name string) string {
	free := name
	for i := 2; n[free]; i++ {
		free = fmt.Sprintf("%s%d", name, i)
	}
	n[free] = true
	return free
}

// words splits a name in any style: orderPlaced, order_placed, Order Placed,
// HTTPRequest. What is neither ASCII letter nor digit is dropped.
func words(name string) []string {
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

// snake joins words with _; empty if there are none that a name can begin with.
func snake(name string) string { return joined(name, "_") }

func joined(name, separator string) string {
	text := strings.ToLower(strings.Join(words(name), separator))
	return strings.TrimLeft(text, "0123456789"+separator)
}

// eventName makes the name of an event; empty if there is nothing to make it of.
func eventName(name string) string {
	if glob.ValidName(name) == nil && len(name) <= maxMade {
		return name
	}
	var segments []string
	for _, part := range strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("./$:", r) }) {
		if s := snake(part); s != "" {
			segments = append(segments, s)
		}
	}
	made := strings.Join(segments, ".")
	return strings.TrimRight(made[:min(len(made), maxMade)], "._")
}

// isWire tells whether a name can be that of an event on the wire.
func isWire(name string) bool { return glob.ValidWire(name) == nil }

// maxMade is how long a name that is made up may be. Names of types in place grow with each struct around them, and a
// key of YAML that is longer than 128 characters has a form of its own.
const maxMade = 100

// typeName makes the name of a type.
func typeName(name string) string {
	if catalog.TypeName.MatchString(name) && len(name) <= maxMade {
		return name
	}
	goName := catalog.GoName(strings.Join(words(name), "_"))
	if !catalog.TypeName.MatchString(goName) {
		goName = "Type" + goName
	}
	return goName[:min(len(goName), maxMade)]
}

// sameName tells whether a title only repeats a name.
func sameName(title, name string) bool {
	return strings.EqualFold(strings.Join(words(title), ""), strings.Join(words(name), ""))
}
