package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/short"
	"gopkg.in/yaml.v3"
)

// TestTheFilesToCopyDoWhatTheySay copies the files of integrations into a module with a catalogue
// and runs what they run: with a busgen that is built once, where they have the tool of the
// module (the test of the tutorial runs that).
func TestTheFilesToCopyDoWhatTheySay(t *testing.T) {
	short.Skip(t, "programs are compiled")
	m := newModule(t)
	for name, run := range map[string]func() (string, error){
		"github-workflow.yml": m.workflow, "pre-commit-config.yaml": m.preCommit, "git-pre-commit": m.gitHook,
	} {
		t.Run(name, func(t *testing.T) {
			m.reset(t)
			m.edit(t, "a shop", "the shop")
			m.git(t, "commit", "-qam", "other words")
			m.edit(t, "the shop", "our shop")
			m.must(t, m.busgen("generate", "events/events.yaml"))
			if out, err := run(); err != nil {
				t.Errorf("a change that is right: %v\n%s", err, out)
			}

			m.reset(t)
			m.edit(t, "number: int64", `number: int64, note: "string?"`)
			if out, err := run(); err == nil || !strings.Contains(out, "payloads.gen.go") {
				t.Errorf("a change without generated code: %v\n%s", err, out)
			}

			m.reset(t)
			m.edit(t, "number: int64", "number: string")
			if out, err := run(); err == nil || !strings.Contains(out, "type-changed") {
				t.Errorf("a change that breaks stored events: %v\n%s", err, out)
			}

			m.reset(t)
			m.edit(t, "doc: An order was placed.", "# no doc")
			m.must(t, m.busgen("generate", "events/events.yaml"))
			if out, err := run(); err == nil || !strings.Contains(out, "event-doc") {
				t.Errorf("a likely mistake: %v\n%s", err, out)
			}
		})
	}
}

func TestTheWorkflowPassesWhereTheBaseHasNoCatalogueYet(t *testing.T) {
	short.Visit(t, "it runs programs")
	m := newModule(t)
	m.git(t, "update-ref", "refs/remotes/origin/main", m.first)
	if out, err := m.workflow(); err != nil || !strings.Contains(out, "nothing can break") {
		t.Errorf("%v\n%s", err, out)
	}
}

// The schema that editors fetch has an address that names the version of the language.
func TestTheSchemaAtItsAddressIsThatOfThisVersion(t *testing.T) {
	for name, command := range map[string]string{"catalogue": "schema", "included": "schema --included"} {
		got := typed(t, "busgen "+command, "")
		if want := string(readIn(t, "../..", "schemas/v1/"+name+".schema.json")); got.Stdout != want {
			t.Errorf("schemas/v1/%s.schema.json is not what busgen %s prints: run go generate ./internal/export", name, command)
		}
	}
	const address = "https://raw.githubusercontent.com/busgen/busgen/main/schemas/v1/catalogue.schema.json"
	for _, file := range []string{"schemas/v1/catalogue.schema.json", "templates/starter/events.yaml", "docs/tools.md"} {
		if !strings.Contains(string(readIn(t, "../..", file)), address) {
			t.Errorf("%s does not name %s", file, address)
		}
	}
}

// module is one with a catalogue and its code, in a repository.
type module struct {
	folder      string
	root        string
	program     string // that is run for "go tool busgen"
	first, base string // commits: before the catalogue, and with it
}

const moduleCatalogue = `version: 1
package: events
# Events of a shop.
events:
  order.placed:
    doc: An order was placed.
    payload: { number: int64 }
`

func newModule(t *testing.T) *module {
	t.Helper()
	root, err := filepath.Abs("../..")
	must(t, err)
	m := &module{folder: t.TempDir(), root: root, program: filepath.Join(t.TempDir(), "busgen")}
	build := m.command("go", "build", "-o", m.program, ".")
	build.Dir = filepath.Join(root, "cmd", "busgen")
	m.must(t, build)
	m.write(t, "go.mod", "module example.com/shop\n\ngo 1.26.0\n")
	m.git(t, "init", "-q", "-b", "main")
	m.git(t, "add", "-A")
	m.git(t, "commit", "-qm", "a module")
	m.first = m.git(t, "rev-parse", "HEAD")
	m.write(t, "events/events.yaml", moduleCatalogue)
	m.must(t, m.busgen("generate", "events/events.yaml"))
	m.git(t, "add", "-A")
	m.git(t, "commit", "-qm", "a catalogue")
	m.base = m.git(t, "rev-parse", "HEAD")
	m.git(t, "update-ref", "refs/remotes/origin/main", "HEAD")
	return m
}

func (m *module) write(t *testing.T, name, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(filepath.Join(m.folder, name)), 0o700))
	must(t, os.WriteFile(filepath.Join(m.folder, name), []byte(text), 0o600))
}

func (m *module) edit(t *testing.T, old, new string) {
	t.Helper()
	text := string(readIn(t, m.folder, "events/events.yaml"))
	if !strings.Contains(text, old) {
		t.Fatalf("there is no %q in\n%s", old, text)
	}
	m.write(t, "events/events.yaml", strings.Replace(text, old, new, 1))
}

func (m *module) reset(t *testing.T) {
	t.Helper()
	m.git(t, "reset", "-q", "--hard", m.base)
	m.git(t, "clean", "-qfd")
}

func (m *module) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = m.folder
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=ada", "GIT_AUTHOR_EMAIL=ada@example.org", "GIT_COMMITTER_NAME=ada", "GIT_COMMITTER_EMAIL=ada@example.org")
	return cmd
}

func (m *module) busgen(args ...string) *exec.Cmd {
	return m.command(m.program, args...)
}

func (m *module) must(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (m *module) git(t *testing.T, args ...string) string {
	t.Helper()
	return m.must(t, m.command("git", args...))
}

func (m *module) withProgram(script string) string {
	return strings.ReplaceAll(script, "go tool busgen", m.program)
}

// shell runs lines as a runner of GitHub does, and returns the first error.
func (m *module) shell(script string, env ...string) (string, error) {
	cmd := m.command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", m.withProgram(script))
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// workflow runs the steps of the workflow as for a pull request.
func (m *module) workflow() (string, error) {
	var file struct {
		Env  map[string]string
		Jobs map[string]struct{ Steps []struct{ Run string } }
	}
	if err := m.read("github-workflow.yml", &file); err != nil {
		return "", err
	}
	env := []string{"GITHUB_BASE_REF=main"}
	for name, value := range file.Env {
		env = append(env, name+"="+value)
	}
	var all strings.Builder
	var failed error
	for _, step := range file.Jobs["catalogue"].Steps {
		if step.Run == "" {
			continue
		}
		out, err := m.shell(step.Run, env...)
		all.WriteString(out)
		if err != nil && failed == nil {
			failed = fmt.Errorf("%s: %w", step.Run, err)
		}
	}
	return all.String(), failed
}

// preCommit runs the hooks of pre-commit.
func (m *module) preCommit() (string, error) {
	var file struct {
		Repos []struct{ Hooks []struct{ Entry string } }
	}
	if err := m.read("pre-commit-config.yaml", &file); err != nil {
		return "", err
	}
	var all strings.Builder
	var failed error
	for _, hook := range file.Repos[0].Hooks {
		out, err := m.shell(hook.Entry)
		all.WriteString(out)
		if err != nil && failed == nil {
			failed = fmt.Errorf("%s: %w", hook.Entry, err)
		}
	}
	return all.String(), failed
}

// gitHook commits what is in the folder with the hook installed.
func (m *module) gitHook() (string, error) {
	hook, err := os.ReadFile(filepath.Join(m.root, "integrations", "git-pre-commit"))
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(m.folder, ".git", "hooks", "pre-commit"), []byte(m.withProgram(string(hook))), 0o700); err != nil {
		return "", err
	}
	defer os.Remove(filepath.Join(m.folder, ".git", "hooks", "pre-commit"))
	return m.shell("git add -A && git commit -qm change")
}

func (m *module) read(name string, into any) error {
	text, err := os.ReadFile(filepath.Join(m.root, "integrations", name))
	if err != nil {
		return err
	}
	return yaml.Unmarshal(text, into)
}
