package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A revision has the files that git has at one time. It is a [catalog.Files].
type revision struct {
	ctx      context.Context
	folder   string // in which git is called
	revision string // as somebody has written it
	prefix   string // of the folder, in the repository
	// atTop says that names begin at the top of the repository, because somebody has
	// written one. Else they are those of the working tree.
	atTop bool
}

// openRevision finds out what is meant by a revision, or by REVISION:PATH, and returns
// the name of the catalogue in it.
func openRevision(ctx context.Context, against, catalogue string) (*revision, string, error) {
	r := &revision{ctx: ctx, folder: filepath.Dir(catalogue), revision: against}
	name, inside, hasPath := strings.Cut(against, ":")
	file := catalogue
	if hasPath {
		r.revision, r.atTop, file = name, true, path.Clean(inside)
	}
	prefix, err := r.git("rev-parse", "--show-prefix")
	if err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return nil, "", fmt.Errorf("there is no file or folder %s, and no git to ask for a revision of that name: install it, or name a file", against)
		}
		return nil, "", fmt.Errorf("there is no file or folder %s, and %s is not in a repository of git", against, catalogue)
	}
	r.prefix = strings.TrimSpace(string(prefix))
	if _, err := r.git("rev-parse", "--verify", "--quiet", "--end-of-options", r.revision+"^{commit}"); err != nil {
		return nil, "", fmt.Errorf("there is no file or folder %s, and no revision %s in git: fetch it, or name another one", against, r.revision)
	}
	return r, file, nil
}

// refs lists the branches and tags that a revision names.
func (r *revision) refs() []string {
	names := []string{"refs/heads/" + r.revision, "refs/remotes/" + r.revision, "refs/tags/" + r.revision}
	list, err := r.git(append([]string{"for-each-ref", "--format=%(refname)"}, names...)...)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(strings.Fields(string(list)), func(ref string) bool { return !slices.Contains(names, ref) }) // but below one
}

// fullName names the revision in a way that nobody takes for a file.
func (r *revision) fullName() string {
	if refs := r.refs(); len(refs) > 0 {
		return refs[0]
	}
	return r.revision + "^{commit}"
}

// git runs a command that only reads.
func (r *revision) git(args ...string) ([]byte, error) {
	cmd := exec.CommandContext(r.ctx, "git", args...)
	cmd.Dir = r.folder
	cmd.Env = slices.DeleteFunc(cmd.Environ(), func(variable string) bool { // of a hook that has called us from another folder
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains([]string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"}, name)
	})
	return cmd.Output()
}

// object is what git calls a file or a folder. It does not begin with a dash, because
// the revision was found.
func (r *revision) object(name string) (string, error) {
	if !r.atTop {
		relative, err := filepath.Rel(r.folder, name)
		if err != nil {
			return "", err
		}
		name = path.Join(r.prefix, filepath.ToSlash(relative))
	}
	if name = filepath.ToSlash(filepath.Clean(name)); name == "." {
		name = ""
	}
	return r.revision + ":" + name, nil
}

// ReadFile implements [catalog.Files].
func (r *revision) ReadFile(name string) ([]byte, error) {
	object, err := r.object(name)
	if err != nil {
		return nil, err
	}
	text, err := r.git("cat-file", "blob", object)
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: r.name(name), Err: fs.ErrNotExist}
	}
	return text, nil
}

// Glob implements [catalog.Files].
func (r *revision) Glob(folder, pattern string) []string {
	object, err := r.object(folder)
	if err != nil {
		return nil
	}
	list, err := r.git("ls-tree", "--full-tree", "-r", "-z", "--name-only", object)
	if err != nil {
		return nil
	}
	var names []string
	for name := range strings.SplitSeq(string(list), "\x00") {
		if matches, _ := path.Match(pattern, name); matches && name != "" {
			names = append(names, filepath.Join(folder, filepath.FromSlash(name)))
		}
	}
	slices.Sort(names)
	return names
}

// name is what people call a file of it: main:events.yaml.
func (r *revision) name(file string) string { return r.revision + ":" + filepath.ToSlash(file) }
