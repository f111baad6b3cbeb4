//go:build unix

package main

import (
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/cli"
)

// The whole test is: go test ./cmd/busgen -run EveryVerb -kill.events 10000 -kill.moments 20
var (
	killEvents  = flag.Int("kill.events", 50, "how large the catalogue is whose verbs are killed")
	killMoments = flag.Int("kill.moments", 2, "how often each verb is killed")
)

// killed has the command lines of all verbs; those without a space are what stands for others. ID is a dead letter.
var killed = []string{
	"generate", "generate --watch", "check", "check --format sarif", "lint", "breaking --against before.yaml", "breaking --db shop.db",
	"describe", "policy *", "docs --out page.html", "schema --out schema.json", "fmt --write", "init started",
	"export jsonschema --out schemas/events.json", "export asyncapi --out asyncapi.json", "export typescript --out events.ts",
	"import schemas/old.json --out imported.yaml", "import old.json --out imported.yaml", "import hooks.json --out imported.yaml",
	"rename event e1.happened e1.occurred", "rename subscription handle-e1 treat-e1", "rename group pair twins", "rename type Money Amount",
	"rename limit bank bank-api", "rename field e1.happened.total sum", "rename value Currency.EUR Euro", "new event zebra.born --field id:uuid", "new version e1.happened",
	"status shop.db", "status shop.db --watch", "inspect shop.db", "events list shop.db", "events tail shop.db", "events show shop.db ID", "events tree shop.db ID", "events export shop.db --source urn:shop --out events.jsonl", "events discard shop.db ID --because test --yes",
	`events publish shop.db order.placed {"number":5,"email":"ada@example.org"}`,
	"events cancel shop.db ID --yes",
	"events discard shop.db --undo ID", "events try-now shop.db --all", "events replay shop.db --subscription send-receipt ID --yes",
	"dlq list shop.db", "dlq groups shop.db", "dlq show shop.db ID", "dlq retry shop.db --all", "dlq edit shop.db ID", "dlq discard shop.db --all --because test --yes",
	"erase shop.db 4711 --field number --cancel-open --yes",
	"dlq purge shop.db --until 1ms --yes", "dlq export shop.db --out dead.jsonl", "dlq import shop.db",
	"subscriptions list shop.db", "subscriptions show shop.db send-receipt", "subscriptions pause shop.db send-receipt", "subscriptions resume shop.db send-receipt", "subscriptions remove shop.db send-receipt --yes",
	"breakers list shop.db", "breakers close shop.db send-receipt", "schedules list", "schedules list shop.db", "limits list shop.db", "running list shop.db", "audit list shop.db", "check-db shop.db", "man man1",
}

func TestEveryVerbIsKilled(t *testing.T) {
	var missing []string
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, below := range cmd.Commands() {
			walk(below)
		}
		path := strings.TrimPrefix(cmd.CommandPath(), "busgen ")
		known := slices.ContainsFunc(killed, func(line string) bool { return strings.HasPrefix(line+" ", path+" ") })
		if cmd.Runnable() && !cmd.HasSubCommands() && !known && !slices.Contains([]string{"completion", "version", "help"}, path) {
			missing = append(missing, path)
		}
	}
	walk(root())
	if missing != nil {
		t.Errorf("no test kills %s", strings.Join(missing, ", "))
	}
}

func TestEveryVerbThatIsKilledLeavesTheOldStateOrTheNewOne(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts many processes")
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	folder := killFolder(t)
	for _, line := range killed {
		t.Run(line, func(t *testing.T) {
			k := &killing{t: t, from: folder.path, args: strings.Fields(strings.ReplaceAll(line, "ID", folder.letter))}
			k.learn()
			for i := range *killMoments + 1 {
				s := syscall.SIGTERM
				if i == *killMoments && !signal.Ignored(syscall.SIGINT) { // as it is in the background of a script
					s = syscall.SIGINT
				}
				k.kill(s, time.Duration(random.Int64N(int64(k.takes)+1)))
			}
			t.Logf("it takes %v, and was gone %v after a signal", k.takes.Round(time.Millisecond), k.slowest.Round(time.Millisecond))
		})
	}
}

// killing kills one verb.
type killing struct {
	t       *testing.T
	from    string // the folder as it is before
	args    []string
	at      string // a copy of the folder
	before  map[string]string
	after   map[string]string
	takes   time.Duration
	slowest time.Duration
}

func (k *killing) command() (*exec.Cmd, *bytes.Buffer) {
	cmd := exec.Command(os.Args[0], k.args...)
	cmd.Dir = k.at
	cmd.Env = append(os.Environ(), actAsBusgen)
	var output bytes.Buffer
	cmd.Stderr = &output
	return cmd, &output
}

// learn runs the verb to its end, or for a while if it has none.
func (k *killing) learn() {
	k.fresh()
	k.before = k.state()
	cmd, output := k.command()
	stdin, err := cmd.StdinPipe() // that nobody writes to
	must(k.t, err)
	defer stdin.Close()
	start := time.Now()
	must(k.t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	endless := slices.Contains(k.args, "--watch") || slices.Contains([]string{"inspect shop.db", "events tail", "dlq edit", "dlq import"}, strings.Join(k.args[:min(2, len(k.args))], " "))
	if !endless {
		if err := <-ended; err != nil && cmd.ProcessState.ExitCode() == cli.StatusTrouble {
			k.t.Fatalf("%v\n%s", err, output)
		}
		k.takes = time.Since(start)
		k.after = k.state()
		return
	}
	k.takes = time.Second
	if k.args[0] == "generate" { // it is killed while it generates, and while it waits
		k.takes += time.Duration(*killEvents) * 3 * time.Millisecond
	}
	select {
	case err := <-ended:
		k.t.Fatalf("it has ended: %v\n%s", err, output)
	case <-time.After(k.takes):
	}
	k.after = k.state()
	must(k.t, cmd.Process.Kill())
	<-ended
}

// kill starts the verb, and ends it after some time.
func (k *killing) kill(s syscall.Signal, after time.Duration) {
	k.t.Helper()
	if !maps.Equal(k.state(), k.before) || slices.Contains(k.args, "shop.db") {
		k.fresh()
	}
	cmd, output := k.command()
	stdin, err := cmd.StdinPipe()
	must(k.t, err)
	defer stdin.Close()
	must(k.t, cmd.Start())
	time.Sleep(after)
	sent := time.Now()
	must(k.t, cmd.Process.Signal(s))
	cmd.Wait()
	k.slowest = max(k.slowest, time.Since(sent))

	state, now := cmd.ProcessState.Sys().(syscall.WaitStatus), k.state()
	isOld, isNew := maps.Equal(now, k.before), maps.Equal(now, k.after)
	switch {
	case !isOld && !isNew:
		k.t.Errorf("%v after %v: the folder has neither the old files nor the new ones\n%s", s, after, differing(k.before, now))
	case state.Signaled() && state.Signal() == s:
	case !state.Exited() || state.ExitStatus() == cli.StatusTrouble:
		k.t.Errorf("%v after %v: it ended with %v\n%s", s, after, cmd.ProcessState, output)
	case !isNew:
		k.t.Errorf("%v after %v: it claims to be done, and changed nothing\n%s", s, after, output)
	}
	if slices.Contains(k.args, "shop.db") {
		check := exec.Command(os.Args[0], "check-db", "shop.db")
		check.Dir, check.Env = k.at, append(os.Environ(), actAsBusgen)
		if text, err := check.CombinedOutput(); err != nil {
			k.t.Errorf("%v after %v: %v\n%s", s, after, err, text)
		}
	}
}

// fresh makes a new copy of the folder.
func (k *killing) fresh() {
	k.t.Helper()
	k.at = filepath.Join(k.t.TempDir())
	must(k.t, os.CopyFS(k.at, os.DirFS(k.from)))
}

// state has a sum of each file, hidden ones included, but of those of a bus only that they are there.
func (k *killing) state() map[string]string {
	k.t.Helper()
	all := map[string]string{}
	must(k.t, filepath.WalkDir(k.at, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == k.at {
			return err
		}
		name, _ := filepath.Rel(k.at, path)
		switch {
		case d.IsDir():
			all[name] = "a folder"
		case strings.HasPrefix(name, "shop.db"):
			all["shop.db"] = "the file of a bus"
		default:
			content, err := os.ReadFile(path)
			all[name] = fmt.Sprintf("%d bytes, %x", len(content), sha256.Sum256(content))
			return err
		}
		return nil
	}))
	return all
}

func differing(before, now map[string]string) string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if now[name] != before[name] {
			lines = append(lines, fmt.Sprintf("%s: %s, was %s", name, now[name], before[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if before[name] == "" {
			lines = append(lines, fmt.Sprintf("%s: %s, was not there", name, now[name]))
		}
	}
	return strings.Join(lines, "\n")
}

type folderToKill struct{ path, letter string }

// killFolder makes a folder with a catalogue in two files, generated code that is not up to date, what verbs import
// and compare with, and the file of a bus with dead letters.
func killFolder(t *testing.T) folderToKill {
	t.Helper()
	inFolder(t, nil)
	at, err := os.Getwd()
	must(t, err)
	must(t, os.WriteFile("go.mod", []byte("module example.com/killed\n"), 0o666))
	var events strings.Builder
	for i := range *killEvents {
		fmt.Fprintf(&events, "  e%d.happened:\n    payload: { id: uuid, total: Money, lines: \"[]string\", note: \"string?\" }\n"+
			"    doc: It happened.\n    subscriptions: { handle-e%[1]d: {} }\n", i)
	}
	root := "version: 1\npackage: events\ninclude: [more.yaml]\ntypes:\n  Currency: { enum: [EUR, USD] }\n  Money: { fields: { amount: int64, currency: Currency } }\nevents:\n" + events.String()
	more := "version: 1\nevents:\n  other.happened:\n    limits: [bank]\n    subscriptions: { left: { group: pair }, right: { group: pair } }\n    payload: { total: Money }\npolicies:\n  e1.happened: { timeout: 5s }\nlimits: { bank: { at_once: 4 } }\n"
	must(t, os.WriteFile("events.yaml", []byte(root), 0o666))
	must(t, os.WriteFile("more.yaml", []byte(more), 0o666))
	must(t, os.Mkdir("schemas", 0o777))
	for _, line := range []string{"-q", "export jsonschema --out schemas/old.json", "export asyncapi --out old.json", "new event added.happened --field id:uuid"} {
		if got := busgen(t, line); got.Status != 0 {
			t.Fatalf("%s: %+v", line, got)
		}
	}
	must(t, os.WriteFile("hooks.json", []byte(`{"openapi":"3.1.0","info":{"title":"hooks","version":"1"},"webhooks":{"paid":{"post":{"requestBody":{"content":`+
		`{"application/json":{"schema":{"type":"object","properties":{"id":{"type":"string"}}}}}}}}}}`), 0o666))
	must(t, os.WriteFile("before.yaml", []byte(root), 0o666))
	return folderToKill{at, deadLetters(t, min(*killEvents, 1000), 0)}
}
