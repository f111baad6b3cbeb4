package git

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/record"
)

// How many commits are read: of all, and of those that have changed the record.
const (
	mostCommits = 1000
	mostChanges = 20
)

// takenBack returns records that a later commit has changed without generating, as "git
// revert" does, or a rebase in which git has merged the lines of the record. Events that
// were published in between are still stored. The next generate after such a commit
// writes all of it into the record.
func (g *repository) takenBack() (lost []*record.Record) {
	changes := g.changes()
	for i, change := range changes {
		now, before := readRecord(g.at(change), g.path), readRecord(g.at(change+"^"), g.path)
		if now == nil || before == nil || g.follows(change, now, before) {
			continue
		}
		isSettled := func(later string) bool {
			then := readRecord(g.at(later), g.path)
			return then != nil && g.follows(later, then, before)
		}
		if !slices.ContainsFunc(changes[:i], isSettled) {
			lost = append(lost, before)
		}
	}
	return lost
}

// changes lists the latest commits that have changed the record, merges included, newest first.
func (g *repository) changes() []string {
	name, err := g.at("").object(g.path)
	if err != nil {
		return nil
	}
	args := []string{"log", "--first-parent", "-m", "--no-renames", "--format=%H", "-" + strconv.Itoa(mostChanges), "HEAD"}
	oldest, _ := g.at("HEAD").git("rev-list", "--first-parent", "--skip="+strconv.Itoa(mostCommits), "-1", "HEAD")
	if commit := strings.TrimSpace(string(oldest)); commit != "" {
		args = append(args, "^"+commit)
	}
	text, _ := g.at("HEAD").git(append(args, "--", ":(top,literal)"+strings.TrimPrefix(name, ":"))...)
	return strings.Fields(string(text))
}

// follows reports whether the record of a commit can have been generated after
// another one.
func (g *repository) follows(commit string, now, before *record.Record) bool {
	accepted := acceptedKeys(g.catalogue)
	if now.Follows(before, nil, accepted) {
		return true
	}
	c := g.catalogueOf(commit, now)
	return c != nil && now.Follows(before, c, append(accepted, acceptedKeys(c)...))
}

// catalogueOf reads the catalogue of the record of a commit. It returns nil if
// that cannot be read.
func (g *repository) catalogueOf(commit string, then *record.Record) *catalog.Catalogue {
	tree, name := g.at(commit), filepath.Join(g.out, filepath.FromSlash(then.Catalogue()))
	text, err := tree.ReadFile(name)
	if err != nil {
		return nil
	}
	c, findings := parse.TextWith(tree, name, text)
	if len(findings) > 0 {
		return nil
	}
	return c
}

func acceptedKeys(c *catalog.Catalogue) (keys []string) {
	for _, a := range c.Accepted {
		keys = append(keys, a.Key.V)
	}
	return keys
}
