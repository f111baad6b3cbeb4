package beforehand

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/glob"
	"github.com/busgen/busgen/internal/words"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
)

// UnknownError refuses a name that the file does not have, and says which was probably meant. A filter
// with such a name can never match: an empty list would look like good news.
type UnknownError struct{ text string }

func (e *UnknownError) Error() string { return e.text }

// Filter returns a filter with the full name of its group. It refuses names that the file does not have.
func Filter(ctx context.Context, file *inspect.File, f event.Filter) (event.Filter, error) {
	_, err := Types(ctx, file, f.Types)
	if err == nil {
		err = Subscriptions(ctx, file, f.Subscriptions)
	}
	if err == nil {
		f.Group, err = group(ctx, file, f.Group)
	}
	return f, err
}

// Types returns the event types of the file that globs match, and refuses a glob that matches none.
func Types(ctx context.Context, file *inspect.File, globs []string) (matched []string, err error) {
	if len(globs) == 0 {
		return nil, nil
	}
	names, err := file.Names(ctx)
	if err != nil {
		return nil, err
	}
	for _, pattern := range globs {
		matches := func(name string) bool { return name == pattern }
		if !strings.HasPrefix(pattern, "$") {
			parsed, err := glob.Parse(pattern)
			if err != nil {
				return nil, err
			}
			matches = parsed.Match
		}
		before := len(matched)
		for _, name := range names.Types {
			if matches(name) {
				matched = append(matched, name)
			}
		}
		if len(matched) == before {
			return nil, &UnknownError{fmt.Sprintf("no event type of this bus matches %s%s", pattern, Meant(pattern, names.Types, globsOver(names.Types), "it has"))}
		}
	}
	slices.Sort(matched)
	return slices.Compact(matched), nil
}

// globsOver lists the globs namespace.* that match some of the types.
func globsOver(types []string) (globs []string) {
	for _, name := range types {
		for i, r := range name {
			if r == '.' && !slices.Contains(globs, name[:i]+".*") {
				globs = append(globs, name[:i]+".*")
			}
		}
	}
	return globs
}

// Subscriptions refuses names of subscriptions that the file does not have.
func Subscriptions(ctx context.Context, file *inspect.File, wanted []string) error {
	if len(wanted) == 0 {
		return nil
	}
	names, err := file.Names(ctx)
	if err != nil {
		return err
	}
	for _, name := range wanted {
		switch {
		case slices.Contains(names.Subscriptions, name):
		case name == "":
			return &UnknownError{"there is no subscription with an empty name" + Meant(name, names.Subscriptions, nil, "the bus has")}
		default:
			return &UnknownError{fmt.Sprintf("there is no subscription %s in this bus%s", name, Meant(name, names.Subscriptions, nil, "it has"))}
		}
	}
	return nil
}

// completeGroup matches the full name of a group.
var completeGroup = regexp.MustCompile(`^[0-9a-f]{12}$`)

// group returns the one group that begins with name. A full name is accepted even
// if no dead letter is in the group at the moment.
func group(ctx context.Context, file *inspect.File, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	name = strings.ToLower(name)
	found, err := file.FailureGroupNames(ctx, name)
	switch {
	case err != nil:
		return "", err
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return "", fmt.Errorf("several groups begin with %s: %s", name, firstOf(found))
	case completeGroup.MatchString(name):
		return name, nil
	}
	all, err := file.FailureGroupNames(ctx, "")
	if err != nil {
		return "", err
	}
	return "", &UnknownError{fmt.Sprintf("no group of dead letters begins with %s%s", name, Meant(name, all, nil, "there are"))}
}

// Meant says which of the names and others was probably meant by a word, or else lists the names.
func Meant(word string, names, others []string, has string) string {
	if hint := diag.Nearest(word, append(slices.Clone(names), others...)); word != "" && hint != "" {
		return hint
	}
	if len(names) == 0 {
		return ", and no other"
	}
	return ": " + has + " " + firstOf(names)
}

// firstOf lists the first ten names, and how many more there are.
func firstOf(names []string) string {
	const shown = 10
	if len(names) > shown {
		return fmt.Sprintf("%s and %s more", strings.Join(names[:shown], ", "), words.Number(len(names)-shown))
	}
	return strings.Join(names, ", ")
}
