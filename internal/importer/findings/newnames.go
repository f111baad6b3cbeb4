package findings

import (
	"fmt"
	"slices"

	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

// A newName is what something is called in the catalogue that cannot have the name that it has in
// the document.
type newName struct {
	old, name string // name is empty for what is left out
	at        diag.Place
}

// The kinds of things that can have new names. Names of properties are keys of the JSON.
const (
	Key          = "key"
	Event        = "event"
	Type         = "definition"
	Subscription = "operation"
)

// Rename remembers a new name.
func (fl *List) Rename(kind, old, name string, at diag.Place) {
	if fl.newNames == nil {
		fl.newNames = map[string][]newName{}
	}
	fl.newNames[kind] = append(fl.newNames[kind], newName{old, name, at})
}

// firstNames is how many names a summary has.
const firstNames = 3

// summary says how many names are new, as in: 4 keys of the JSON would change: "aB" becomes a_b, ….
func (fl *List) summary(all []newName, what func(n int) string) (string, diag.Place) {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b newName) int { return fl.Compare(a.at, b.at) })
	seen := map[string]bool{}
	all = slices.DeleteFunc(all, func(n newName) bool {
		before := seen[n.old]
		seen[n.old] = true
		return before
	})
	text := what(len(all)) + ": "
	for i, n := range all[:min(len(all), firstNames)] {
		switch {
		case i > 0 && i+1 == len(all):
			text += " and "
		case i > 0:
			text += ", "
		}
		if n.name == "" {
			text += Quote(n.old) + " is left out"
		} else {
			text += Quote(n.old) + " becomes " + n.name
		}
	}
	if more := len(all) - firstNames; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text, all[0].at
}

// ChangedKeys returns the finding about all keys of the JSON that change; nil if none does.
func (fl *List) ChangedKeys(accepted bool) *diag.Finding {
	if fl.newNames[Key] == nil {
		return nil
	}
	one, many := "1 key of the JSON would change", "%d keys of the JSON would change"
	if accepted {
		one, many = "1 key of the JSON has changed", "%d keys of the JSON have changed"
	}
	text, at := fl.summary(fl.newNames[Key], counting(one, many))
	f := rules.ImportKeys.At(at, "%s", text)
	f.Hint = "payloads with the old keys would lose these values: change them in the document, or accept it with " +
		"--rename-keys"
	if accepted {
		f.Severity, f.Hint = diag.Warning, "payloads with the old keys lose these values"
	}
	return f
}

func counting(one, many string) func(n int) string {
	return func(n int) string {
		if n == 1 {
			return one
		}
		return fmt.Sprintf(many, n)
	}
}

// NoteNewNames notes what has new names besides keys: once for each kind.
func (fl *List) NoteNewNames() {
	for kind, what := range map[string]func(int) string{
		Event: counting("1 event has another name", "%d events have other names"),
		Type:  counting("1 definition has another name as a type", "%d definitions have other names as types"),
		Subscription: counting("1 operation has another name as a subscription",
			"%d operations have other names as subscriptions"),
	} {
		if all := fl.newNames[kind]; all != nil {
			text, at := fl.summary(all, what)
			fl.Note(at, "%s", text)
		}
	}
}
