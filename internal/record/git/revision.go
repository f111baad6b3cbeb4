package git

import (
	"cmp"
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

// Revision reads the files that git has in one revision. It is a
// [parse.Files].
type Revision struct {
	ctx    context.Context
	folder string // in which git is called
	name   string // as the user has written it
	prefix string // of the folder, in the repository
	// atTop says that file names begin at the top of the repository. Otherwise they
	// are those of the working tree.
	atTop bool
}

// OpenRevision reads what a user has written, REVISION or REVISION:PATH, and
// returns the revision and the name of the catalogue in it.
func OpenRevision(ctx context.Context, against, catalogue string) (*Revision, string, error) {
	r := &Revision{ctx: ctx, folder: filepath.Dir(catalogue), name: against}
	name, inside, hasPath := strings.Cut(against, ":")
	file := catalogue
	if hasPath {
		r.name, r.atTop, file = name, true, path.Clean(inside)
	}
	prefix, err := r.git("rev-parse", "--show-prefix")
	if err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return nil, "", fmt.Errorf("there is no file or folder %s, and no git to ask for a revision of that name: install it, or name a file", against)
		}
		if refused := refusal(err); refused != nil {
			return nil, "", fmt.Errorf("there is no file or folder %s, and git refuses to look for a revision of that name: %w", against, refused)
		}
		return nil, "", fmt.Errorf("there is no file or folder %s, and %s is not in a repository of git", against, catalogue)
	}
	r.prefix = strings.TrimSpace(string(prefix))
	if _, err := r.git("rev-parse", "--verify", "--quiet", "--end-of-options", r.name+"^{commit}"); err != nil {
		return nil, "", fmt.Errorf("there is no file or folder %s, and no revision %s in git: fetch it, or name another one", against, r.name)
	}
	return r, file, nil
}

// String returns the revision as the user has written it.
func (r *Revision) String() string { return r.name }

// Refs lists the branches and tags that the revision may mean.
func (r *Revision) Refs() []string {
	names := []string{"refs/heads/" + r.name, "refs/remotes/" + r.name, "refs/tags/" + r.name}
	list, err := r.git(append([]string{"for-each-ref", "--format=%(refname)"}, names...)...)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(strings.Fields(string(list)), func(ref string) bool { return !slices.Contains(names, ref) }) // those in a folder below
}

// FullName returns a name of the revision that cannot be taken for a file.
func (r *Revision) FullName() string {
	if refs := r.Refs(); len(refs) > 0 {
		return refs[0]
	}
	return r.name + "^{commit}"
}

// git runs a command of git that only reads.
func (r *Revision) git(args ...string) ([]byte, error) {
	cmd := exec.CommandContext(r.ctx, "git", args...)
	cmd.Dir = r.folder
	cmd.Env = slices.DeleteFunc(cmd.Environ(), func(variable string) bool { // set by a hook that runs us in another folder
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains([]string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "LC_ALL", "LANGUAGE"}, name)
	})
	cmd.Env = append(cmd.Env, "LC_ALL=C") // refusal reads what git says
	return cmd.Output()
}

// refusal returns what git says when it does not read a repository that is there, as one of another user. It returns nil
// if there is no repository, or no git.
func refusal(err error) error {
	var failed *exec.ExitError
	if !errors.As(err, &failed) || strings.Contains(string(failed.Stderr), "not a git repository") {
		return nil
	}
	said := strings.TrimPrefix(strings.Join(strings.Fields(string(failed.Stderr)), " "), "fatal: ")
	return errors.New(cmp.Or(said, failed.Error()))
}

// object returns what git calls a file or a folder. It does not begin with a
// dash, because the revision was found.
func (r *Revision) object(name string) (string, error) {
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
	return r.name + ":" + name, nil
}

// ReadFile implements [parse.Files].
func (r *Revision) ReadFile(name string) ([]byte, error) {
	object, err := r.object(name)
	if err != nil {
		return nil, err
	}
	text, err := r.git("cat-file", "blob", object)
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: r.FileName(name), Err: fs.ErrNotExist}
	}
	return text, nil
}

// Glob implements [parse.Files].
func (r *Revision) Glob(folder, pattern string) []string {
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

// FileName returns what people call a file of the revision: main:events.yaml.
func (r *Revision) FileName(file string) string { return r.name + ":" + filepath.ToSlash(file) }
