package main

import (
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/cli/clitest"
	"github.com/busgen/busgen/internal/short"
)

// A drill: each careless change meets a copy of one live file, which has pending events and
// dead letters. The tools refuse the change and say why. If somebody accepts it all the
// same, the new program is compiled and run on the file, and every row is accounted for:
// the handler gets it as it was published, or as the finding has said; or it is a dead
// letter with its bytes; or it waits for a handler, and the bus warns of that.
func TestNothingIsLostInSilenceByACarelessChange(t *testing.T) {
	short.Visit(t, "it runs programs")
	m := newDrillModule(t)
	for _, name := range m.names {
		t.Run("the change "+name, func(t *testing.T) { m.careless(t, name, changes[name]) })
	}
	m.compile()
	for _, name := range m.names {
		if !changes[name].never {
			t.Run("the rows after "+name, func(t *testing.T) { m.takesOver(t, name, changes[name]) })
		}
	}
}

// careless makes a change, compares what the tools say, and keeps the code.
func (m *drillModule) careless(t *testing.T, name string, c carelessChange) {
	d := m.newDrill(t, name)
	if c.before != nil {
		c.before(d)
	}
	if c.change == nil {
		busgen(t, "check "+d.args()).Wants(t, 0, "", "")
		m.take(t, d, c)
		return
	}
	c.change(d)
	if c.noted != nil {
		d.wantsNotes(c.noted)
		m.take(t, d, c)
		return
	}
	before := clitest.Snapshot(t)
	for _, command := range []string{"generate ", "check "} {
		got := busgen(t, command+d.args())
		d.wantsFindings(command, got, c.refused)
	}
	if after := clitest.Snapshot(t); len(after) != len(before) || rewritten(before, after) != "" {
		t.Errorf("a refused change has written %q", rewritten(before, after))
	}
	if c.never {
		if got := busgen(t, "generate --accept-wire "+d.args()); got.Status == 0 {
			t.Errorf("with --accept-wire: %+v", got)
		}
		return
	}
	d.accepted()
	if got := busgen(t, "check "+d.args()); got.Status != 0 {
		t.Errorf("after it was accepted and checked in, check says %+v", got)
	}
	m.take(t, d, c)
}

// rewritten returns a file whose content has changed; empty if there is none.
func rewritten(before, after map[string]clitest.Entry) string {
	for name, now := range after {
		if before[name].Text != now.Text && !strings.HasPrefix(name, ".git/") {
			return name
		}
	}
	return ""
}

func (d *drill) wantsFindings(command string, got clitest.Result, want []string) {
	d.t.Helper()
	if got.Status == 0 {
		d.t.Errorf("%s: exit status 0, want a refusal with %q\n%s%s", command, want, got.Stdout, got.Stderr)
		return
	}
	rest := got.Stderr
	for _, part := range want {
		_, after, found := strings.Cut(rest, part)
		if !found {
			d.t.Errorf("%s lacks %q at its place:\n%s", command, part, got.Stderr)
		}
		rest = after
	}
}

func (d *drill) wantsNotes(want []string) {
	d.t.Helper()
	got := busgen(d.t, "generate "+d.args())
	if got.Status != 0 {
		d.t.Errorf("exit status %d\n%s%s", got.Status, got.Stdout, got.Stderr)
	}
	for _, part := range want {
		if !strings.Contains(got.Stdout+got.Stderr, part) {
			d.t.Errorf("generate does not mention %q:\n%s%s", part, got.Stdout, got.Stderr)
		}
	}
	d.commit()
	if got := busgen(d.t, "check "+d.args()); got.Status != 0 {
		d.t.Errorf("check says %+v", got)
	}
}

// takesOver compares what the new program has made of the rows.
func (m *drillModule) takesOver(t *testing.T, name string, c carelessChange) {
	got, ok := m.outcomes[name]
	if !ok {
		t.Fatal("the change could not be made")
	}
	if got.unopened != c.unopened {
		t.Errorf("the bus is not opened because %q, want %q", got.unopened, c.unopened)
	}
	for row, published := range m.published {
		if got.unopened != "" {
			break // nothing is handled
		}
		want := published
		if expected, ok := c.rows[strings.TrimSuffix(strings.TrimSuffix(row, " dead"), " pending")]; ok {
			want = expected
		}
		if got.rows[row] != want {
			t.Errorf("%s: %s, want %s", row, got.rows[row], want)
		}
	}
	if strings.Join(got.leftover, " ") != strings.Join(c.leftover, " ") {
		t.Errorf("the bus warns of %q, want %q", got.leftover, c.leftover)
	}
	if got.stored != m.stored {
		t.Errorf("the file has other payloads now:\n%s\nbefore:\n%s", got.stored, m.stored)
	}
}
