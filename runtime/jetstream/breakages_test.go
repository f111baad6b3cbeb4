package jetstream_test

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/busgen/busgen/runtime/internal/conformance"
)

var breakCode = flag.Bool("break", false, "break what the engine rests on, and see that a test fails")

// breakage takes away something on which the promises rest. Its test has to fail then.
type breakage struct {
	name, test string
	changes    []change
}

// change is a text of a file of internal/buslog, which occurs once, and what stands there
// instead.
type change struct{ file, old, new string }

var breakages = []breakage{
	{"no Expected-Last header on the cursor", "TestWhatAnOwnerSaysAfterItsTakeoverIsNotStored", []change{
		{"commit.go", "Data: data, Only: true, Expect: stream.Expecting(rev)}", "Data: data, Only: true}"},
	}},
	{"rows outside of the batch", "TestWhereverAnOwnerIsCutOffAnEventHasOneChild", []change{
		{"commit.go", "			if first, _, err = l.stream.Append(context.Background(), p.msgs...); err == nil {\n", `
			last := len(p.msgs) - 1
			for _, m := range p.msgs[:last] {
				l.stream.Append(context.Background(), m)
			}
			first, _, err = l.stream.Append(context.Background(), p.msgs[last])
			if first -= int64(last); err == nil {
`},
	}},
	{"no claims", "TestACrashIsReportedWhenAnotherProcessGoesOnInTheBackground", []change{
		{"verdict.go", "		if f.begun {\n", "		if false {\n"},
	}},
	{"no fence", "TestWhoGoesOnHasReadWhatTheLastOwnerHasStored", []change{
		{"fence.go", "		c.revs[at], c.numbers[at] = p.rev, p.N\n", "		l.leaders(u, at)\n		c.revs[at], c.numbers[at] = p.rev, p.N\n"},
		{"fence.go", "err := l.reach(ctx, seq+int64(len(c.msgs))-1); err", "err := error(nil); err"},
		{"fence.go", "			if p := &u.sub.parts[at]; stored != nil && stored.Owner != \"\" && p.N == stored.N && p.By == l.instance && l.units[u.sub.ID] == u {\n",
			"			if stored != nil {\n				u.sub.parts[at] = part{*stored, seq + int64(len(c.msgs)) - 1}\n"},
		{"commit.go", "// pause waits before the next try.\n", `
func (l *Log) leaders(u *unit, at int) {
	m, err := l.stream.LastOf(context.Background(), l.cursorSubject(u.sub.ID, at))
	if err != nil {
		return
	}
	p := &u.sub.parts[at]
	p.rev = m.Seq
	json.Unmarshal(m.Data, &p.cursor)
}

// pause waits before the next try.
`},
	}},
}

func TestWithoutWhatTheEngineRestsOnItsTestsFail(t *testing.T) {
	for _, b := range breakages {
		t.Run(b.name, func(t *testing.T) {
			folder, replaced := t.TempDir(), map[string]string{}
			for _, c := range b.changes {
				path, err := filepath.Abs(filepath.Join("internal", "buslog", c.file))
				conformance.Must(t, err)
				from := path
				if replaced[path] != "" {
					from = replaced[path]
				}
				source, err := os.ReadFile(from)
				conformance.Must(t, err)
				if n := strings.Count(string(source), c.old); n != 1 {
					t.Fatalf("%s has %d times %q, want 1", c.file, n, c.old)
				}
				replaced[path] = filepath.Join(folder, c.file)
				conformance.Must(t, os.WriteFile(replaced[path], []byte(strings.Replace(string(source), c.old, c.new, 1)), 0o600))
			}
			if !*breakCode {
				return
			}
			overlay := filepath.Join(folder, "overlay.json")
			content, err := json.Marshal(map[string]any{"Replace": replaced})
			conformance.Must(t, err)
			conformance.Must(t, os.WriteFile(overlay, content, 0o600))
			output, _ := exec.Command("go", "test", "-vet=off", "-overlay", overlay, "-timeout", "5m", "-run", "^"+b.test+"$", ".").CombinedOutput()
			if !strings.Contains(string(output), "--- FAIL: "+b.test) {
				t.Errorf("%s does not fail:\n%s", b.test, output)
			}
		})
	}
}
