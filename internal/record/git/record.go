package git

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/input"
	"github.com/busgen/busgen/internal/record"
)

// A repository of git, in which records are found.
type repository struct {
	*generated
	folder string   // the output folder, or the one around it that exists
	prefix string   // of the folder, in the repository
	merged []string // the commits that are being merged into HEAD
	picked []string // the commits that a cherry-pick or rebase is applying
}

// openRepository returns nil outside of a repository, or if there is no git.
func openRepository(w *generated) (*repository, error) {
	g := &repository{generated: w, folder: existingFolder(w.out)}
	lines, err := g.at("HEAD").git("rev-parse", "--show-prefix", "--git-path", "MERGE_HEAD", "--git-path", "CHERRY_PICK_HEAD", "--git-path", "REBASE_HEAD",
		"--git-path", "rebase-merge", "--git-path", "rebase-apply")
	if cause := context.Cause(w.ctx); cause != nil {
		return nil, cause
	}
	if refused := refusal(err); refused != nil {
		return nil, fmt.Errorf("git refuses to say what was committed, so busgen cannot tell which changes break stored events: %w", refused)
	}
	if err != nil {
		return nil, nil
	}
	parts := strings.Split(strings.TrimSuffix(string(lines), "\n"), "\n")
	if len(parts) != 6 {
		return nil, nil // a path with a line end
	}
	g.prefix = parts[0]
	g.merged, g.picked = g.commitsIn(parts[1]), g.commitsIn(parts[2])
	if g.isFolder(parts[4]) || g.isFolder(parts[5]) { // git leaves REBASE_HEAD behind when a rebase has ended
		g.picked = append(g.picked, g.commitsIn(parts[3])...)
	}
	return g, nil
}

// existingFolder returns a folder or, if it does not exist, the nearest one
// around it that does.
func existingFolder(folder string) string {
	for {
		info, err := os.Stat(folder)
		if err == nil && info.IsDir() {
			return folder
		}
		above := filepath.Dir(folder)
		if above == folder {
			return "."
		}
		folder = above
	}
}

func (g *repository) isFolder(name string) bool {
	info, err := os.Stat(g.fromHere(name))
	return err == nil && info.IsDir()
}

// fromHere returns a path that git has named in the folder.
func (g *repository) fromHere(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(g.folder, name)
}

// commitsIn reads a file of git that has a commit on each line.
func (g *repository) commitsIn(name string) []string {
	text, err := input.ReadFile(g.fromHere(name), parse.MaxFile)
	if err != nil {
		return nil // no merge, cherry-pick or rebase is under way
	}
	return strings.Fields(string(text))
}

func (g *repository) at(commit string) *Revision {
	return &Revision{ctx: g.ctx, folder: g.folder, name: commit, prefix: g.prefix}
}

// find returns the record of HEAD; in a merge, that of the branches. It returns
// nil if git has none.
func (g *repository) find() (*record.Record, error) {
	found := g.recordOf("HEAD")
	if parents := g.mergedBefore(); found != nil && parents != nil {
		found = found.Resolved(parents)
	}
	for _, theirs := range g.merged {
		base, _ := g.at("HEAD").git("merge-base", "HEAD", theirs)
		found = g.merge(found, theirs, strings.TrimSpace(string(base)))
	}
	for _, theirs := range g.picked {
		found = g.merge(found, theirs, theirs+"^")
	}
	if found != nil {
		found.AlsoSince(g.takenBack()...)
	}
	return found, context.Cause(g.ctx)
}

// mergedBefore returns what the record of the last merge should have been, if no
// commit has changed it since. It returns nil if none of the last 100 commits is
// a merge.
func (g *repository) mergedBefore() *record.Record {
	name, err := g.at("").object(g.path)
	if err != nil {
		return nil
	}
	head, _ := g.at("HEAD").git("rev-parse", "--verify", "--quiet", "HEAD"+name)
	if len(head) == 0 {
		return nil
	}
	commits, _ := g.at("HEAD").git("log", "-100", "--first-parent", "--format=%H %P", "HEAD")
	for line := range strings.Lines(string(commits)) {
		hashes := strings.Fields(line)
		if len(hashes) < 3 {
			continue
		}
		if then, _ := g.at("HEAD").git("rev-parse", "--verify", "--quiet", hashes[0]+name); !slices.Equal(then, head) {
			return nil
		}
		parents := readRecord(g.at(hashes[1]), g.path)
		for _, theirs := range hashes[2:] {
			base, _ := g.at("HEAD").git("merge-base", hashes[1], theirs)
			other, common := readRecord(g.at(theirs), g.path), readRecord(g.at(strings.TrimSpace(string(base))), g.path)
			parents = merged(parents, other, common)
		}
		return parents
	}
	return nil
}

func (g *repository) merge(ours *record.Record, theirs, base string) *record.Record {
	return merged(ours, g.recordOf(theirs), g.recordOf(base))
}

// merged merges records. Each of them may be nil.
func merged(ours, theirs, base *record.Record) *record.Record {
	if base == nil {
		base = &record.Record{}
	}
	switch {
	case theirs == nil:
		return ours
	case ours == nil:
		return theirs
	}
	return ours.Merge(theirs, base)
}

// recordOf returns the record of a commit: its file, or else the last one before
// it, or else that of the folder in which the code was. It returns nil if there
// is none.
func (g *repository) recordOf(commit string) *record.Record {
	if commit == "" {
		return nil
	}
	r := g.at(commit)
	if own := readRecord(r, g.path); own != nil {
		return own
	}
	name, err := r.object(g.path)
	if err != nil {
		return nil
	}
	_, inside, _ := strings.Cut(name, ":")
	last, _ := r.git("log", "-1", "--format=%H", "--full-history", "--no-renames", "--diff-filter=AM", "--end-of-options", commit, "--", ":(top,literal)"+inside)
	if hash := strings.TrimSpace(string(last)); hash != "" {
		return readRecord(g.at(hash), g.path)
	}
	return g.moved(commit)
}

// readRecord reads the record of a commit. It returns nil if there is none.
func readRecord(r *Revision, name string) *record.Record {
	if r.name == "" {
		return nil // without a commit git would read its index
	}
	text, err := r.ReadFile(name)
	if err != nil || !record.IsRecord(text) {
		return nil
	}
	return record.Read(shortCommit(r.name)+":"+filepath.ToSlash(name), text)
}

// shortCommit returns a commit as people write it.
func shortCommit(commit string) string {
	if len(commit) < 40 {
		return commit
	}
	return commit[:12] + commit[40:]
}

// moved looks for the record of the same catalogue in another folder: a record
// whose catalogue is this one, or a deleted record with most of its events here.
func (g *repository) moved(commit string) *record.Record {
	here := map[string]bool{}
	for _, e := range g.catalogue.Events {
		here[e.Name.V] = true
		for _, alias := range e.Aliases {
			here[alias.V] = true
		}
	}
	top, err := g.at(commit).git("rev-parse", "--show-toplevel")
	if err != nil {
		return nil
	}
	var best *record.Record
	most := 0
	for _, found := range g.elsewhere(commit) {
		tree := g.at(found.commit)
		tree.atTop = true
		other := readRecord(tree, found.name)
		if other == nil {
			continue
		}
		name := filepath.Join(strings.TrimSuffix(string(top), "\n"), filepath.FromSlash(found.name))
		if other.Catalogue() != "" && g.isPart(filepath.Join(filepath.Dir(name), filepath.FromSlash(other.Catalogue()))) {
			return other
		}
		events := other.Events()
		same := len(slices.DeleteFunc(slices.Clone(events), func(name string) bool { return !here[name] }))
		if _, err := os.Stat(name); err != nil && same > most && 2*same > len(events) {
			best, most = other, same
		}
	}
	return best
}

// foundFile is a file in a commit, by its name in the repository.
type foundFile struct{ commit, name string }

// elsewhere lists the records of a commit, and those that were deleted before it.
func (g *repository) elsewhere(commit string) []foundFile {
	var all []foundFile
	seen := map[string]bool{}
	add := func(commit, name string) {
		if path.Base(name) == record.FileName && !seen[name] {
			seen[name] = true
			all = append(all, foundFile{commit, name})
		}
	}
	tree, _ := g.at(commit).git("ls-tree", "--full-tree", "-r", "-z", "--name-only", commit)
	for name := range strings.SplitSeq(string(tree), "\x00") {
		add(commit, name)
	}
	removed, _ := g.at(commit).git("log", "--format=%x00%H", "--name-only", "--no-renames", "--diff-filter=D", "--end-of-options", commit, "--", ":(top,glob)**/"+record.FileName)
	for entry := range strings.SplitSeq(string(removed), "\x00") {
		hash, names, _ := strings.Cut(entry, "\n")
		for name := range strings.SplitSeq(names, "\n") {
			add(hash+"^", name)
		}
	}
	return all
}

// isIgnored reports whether git ignores the file, as if it were outside of git.
func (g *repository) isIgnored() bool {
	name, err := filepath.Rel(g.folder, g.path)
	if err != nil {
		return false
	}
	_, err = g.at("HEAD").git("check-ignore", "--quiet", "--", filepath.ToSlash(name))
	return err == nil
}
