package busfile

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/terminal"
	"github.com/busgen/busgen/internal/glob"
	"github.com/busgen/busgen/runtime/inspect"
)

// A filter with a name that the file does not have can never match. An empty list
// would look like good news, so the answer is no.

// known returns the filter with the full name of its group. It refuses names that
// the file does not have.
func (c *call) known(f inspect.Filter) (inspect.Filter, error) {
	err := c.knowTypes(f.Types)
	if err == nil {
		err = c.knowSubscriptions(f.Subscriptions)
	}
	if err == nil {
		f.Group, err = c.group(f.Group)
	}
	return f, err
}

// knowTypes refuses globs that match no event type of the file.
func (c *call) knowTypes(globs []string) error {
	if len(globs) == 0 {
		return nil
	}
	names, err := c.file.Names(c.context())
	if err != nil {
		return err
	}
	for _, pattern := range globs {
		matches := func(name string) bool { return name == pattern }
		if !strings.HasPrefix(pattern, "$") {
			parsed, err := glob.Parse(pattern)
			if err != nil {
				return err
			}
			matches = parsed.Match
		}
		if !slices.ContainsFunc(names.Types, matches) {
			return cli.No(fmt.Errorf("no event type of this bus matches %s%s", pattern,
				meant(pattern, names.Types, globsOver(names.Types), "it has")))
		}
	}
	return nil
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

// knowSubscriptions refuses names of subscriptions that the file does not have.
func (c *call) knowSubscriptions(wanted []string) error {
	if len(wanted) == 0 {
		return nil
	}
	names, err := c.file.Names(c.context())
	if err != nil {
		return err
	}
	for _, name := range wanted {
		if err := knowSubscription(name, names); err != nil {
			return cli.No(err)
		}
	}
	return nil
}

func knowSubscription(name string, names inspect.Names) error {
	switch {
	case slices.Contains(names.Subscriptions, name):
		return nil
	case name == "":
		return fmt.Errorf("there is no subscription with an empty name%s", meant(name, names.Subscriptions, nil, "the bus has"))
	}
	return fmt.Errorf("there is no subscription %s in this bus%s", name, meant(name, names.Subscriptions, nil, "it has"))
}

// completeGroup matches the full name of a group.
var completeGroup = regexp.MustCompile(`^[0-9a-f]{12}$`)

// group returns the one group that begins with name. A full name is accepted even
// if no dead letter is in the group at the moment.
func (c *call) group(name string) (string, error) {
	if name == "" {
		return "", nil
	}
	name = strings.ToLower(name)
	found, err := c.file.FailureGroupNames(c.context(), name)
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
	all, err := c.file.FailureGroupNames(c.context(), "")
	if err != nil {
		return "", err
	}
	return "", cli.No(fmt.Errorf("no group of dead letters begins with %s%s", name, meant(name, all, nil, "there are")))
}

// meant says which of the names and others was probably meant by a word, or else
// lists the names.
func meant(word string, names, others []string, has string) string {
	if hint := cli.Nearest(word, append(slices.Clone(names), others...)); word != "" && hint != "" {
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
		return fmt.Sprintf("%s and %s more", strings.Join(names[:shown], ", "), terminal.Number(len(names)-shown))
	}
	return strings.Join(names, ", ")
}
