package checks

import (
	"strconv"
	"strings"
)

// Hide takes the values out of the messages about the field at path, and about what is in
// it: the catalogue says that the field is sensitive. The constraint of the field stays.
// Keys of maps are hidden with the values.
func (p *Problems) Hide(path string) {
	for i, problem := range p.found {
		rest, ok := strings.CutPrefix(problem.Path, path)
		if !ok || rest != "" && rest[0] != '.' && rest[0] != '[' {
			continue
		}
		p.found[i] = Problem{Path: path + withoutKeys(rest), Message: withoutValue(problem.Message)}
	}
}

// withoutKeys replaces the keys of maps in a path: ["ada"].name becomes [hidden].name.
func withoutKeys(path string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(path, `["`)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteString("[hidden]")
		key, err := strconv.QuotedPrefix(`"` + after)
		if err != nil {
			return b.String()
		}
		path = strings.TrimPrefix(after[len(key)-1:], "]")
	}
}

// withoutValue returns what a message asks for, without the value that it quotes. It knows
// the messages of this package. One of a method of the program may say anything.
func withoutValue(message string) string {
	const plain = "is not a valid value, which is hidden because the field is sensitive"
	switch {
	case strings.HasPrefix(message, "has "), strings.HasPrefix(message, "is not set"), message == notUTF8:
		return message
	case strings.HasPrefix(message, "is "):
		if i := strings.LastIndex(message, "; it must be at "); i >= 0 {
			return strings.TrimPrefix(message[i:], "; it ")
		}
	case strings.HasPrefix(message, `"`):
		if value, err := strconv.QuotedPrefix(message); err == nil {
			return strings.TrimSpace(message[len(value):])
		}
	}
	return plain
}
