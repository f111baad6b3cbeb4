package busfile

import (
	"context"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/busgen/busgen/internal/short"
	"github.com/google/go-cmp/cmp"
	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/internal/cli/clitest"
	"github.com/busgen/busgen/internal/handbook"
	"github.com/busgen/busgen/runtime"
)

var update = flag.Bool("update", false, "rewrite the output in docs/operating.md")

// The operator's guide is a session: the commands in its ```console blocks are
// run in their order, beside a shop, and what they print is what the guide
// shows. Comments between them say what happens to the shop meanwhile.
const guide = "../../../docs/operating.md"

// happenings are what the comments say.
var happenings = map[string]func(*testing.T, *shop){
	"the shop has a bad night":   func(_ *testing.T, s *shop) { s.badNight() },
	"the provider is up again":   func(_ *testing.T, s *shop) { s.down.Store(false) },
	"the provider is down again": func(_ *testing.T, s *shop) { s.breakDown() },
	"one payment hangs, and the next is slow": func(_ *testing.T, s *shop) {
		s.pay(36, hanging+300)
		s.pay(37, hanging+25)
		time.Sleep(45 * time.Second)
	},
	"the hanging payment comes to an end": func(_ *testing.T, _ *shop) { time.Sleep(5 * time.Minute) },
	"the program is stopped, with a subscription that is left over": func(t *testing.T, s *shop) {
		_, err := runtime.Subscribe(s.Bus, clitest.OrderType, "old-name", func(context.Context, runtime.Event[clitest.OrderPlaced]) error { return nil })
		must(t, err)
		s.order(21, "customer21", 2100)
		time.Sleep(time.Second) // its payment is handled: a shutdown leaves what has not begun
		must(t, s.Shutdown(t.Context()))
	},
	"the ledger is paused, and an order is placed": func(t *testing.T, s *shop) {
		does(t, "busgen subscriptions pause shop.db ledger --actor ada")
		time.Sleep(time.Second)
		_, err := runtime.Publish(t.Context(), s.Bus, clitest.OrderType, clitest.OrderPlaced{Number: 22, Email: "customer22@example.org"})
		must(t, err)
		time.Sleep(time.Second)
	},
	"a night with four problems": func(_ *testing.T, s *shop) { s.nightShift() },
	"three minutes later":        func(_ *testing.T, _ *shop) { time.Sleep(3 * time.Minute) },
	"the night is over":          func(_ *testing.T, s *shop) { s.dayBreaks() },
	"a new catalogue has another type of email": func(t *testing.T, _ *shop) {
		next := strings.Replace(clitest.ShopCatalogue, "email: string", "email: bool", 1)
		must(t, os.WriteFile("next.yaml", []byte(next), 0o600))
	},
}

func TestTheOperatorsGuideShowsWhatIsPrinted(t *testing.T) {
	short.Visit(t, "it runs many commands")
	text, err := os.ReadFile(guide)
	must(t, err)
	path, err := filepath.Abs(guide)
	must(t, err)
	page := handbook.Runs(t, "docs/operating.md")
	var got string
	inShop(t, func(t *testing.T, s *shop) {
		t.Setenv("COLUMNS", "100")
		got = (&session{t: t, shop: s, ids: map[string]string{}, page: page}).replay(string(text))
	})
	if *update {
		must(t, os.WriteFile(path, []byte(got), 0o666))
		return
	}
	if diff := cmp.Diff(string(text), got); diff != "" {
		t.Errorf("run go test ./internal/cli/busfile -run Guide -update (-guide +printed):\n%s", diff)
	}
}

// session replays the guide.
type session struct {
	t    *testing.T
	shop *shop
	ids  map[string]string // as shown in the guide, by the first 18 characters of the real ones
	page *handbook.Runner
}

var (
	consoleBlock = regexp.MustCompile("(?ms)^```console\n(.*?)^```$|^<!-- (.*?) -->$")
	command      = regexp.MustCompile(`(?m)^\$ .*\n`)
)

// replay returns the guide with what its commands print.
func (s *session) replay(text string) string {
	return consoleBlock.ReplaceAllStringFunc(text, func(block string) string {
		match := consoleBlock.FindStringSubmatch(block)
		if happening := match[2]; happening != "" {
			happen, known := happenings[happening]
			if !known {
				s.t.Errorf("nobody knows what happens when %s", happening)
				return block
			}
			happen(s.t, s.shop)
			return block
		}
		var b strings.Builder
		for _, line := range command.FindAllString(match[1], -1) {
			s.page.Ran(strings.TrimSpace(line[2:]))
			b.WriteString(line + s.normal(s.perform(strings.TrimSpace(line[2:]))))
			now := time.Now() // a command that waited, for a lock perhaps, is followed at the same part of a second
			time.Sleep(now.Truncate(time.Second).Add(time.Second + 10*time.Millisecond).Sub(now))
		}
		return "```console\n" + b.String() + "```"
	})
}

// perform runs one command, and returns all it prints.
func (s *session) perform(command string) string {
	for real, shown := range s.ids {
		command = strings.ReplaceAll(command, shown, real)
	}
	if words := clitest.Split(s.t, command); words[0] == "sqlite3" {
		return query(s.t, words[1], words[2])
	}
	input := ""
	if echo, rest, piped := strings.Cut(command, " | "); piped {
		input, command = clitest.Split(s.t, echo)[1], rest
	}
	got := typed(s.t, command, input)
	return got.Stdout + got.Stderr
}

var (
	anID  = regexp.MustCompile(`\b019ce[0-9a-f]{3}-[0-9a-f]{4}-7[0-9a-f]{3}(-[0-9a-f]{4}-[0-9a-f]{12})?\b`)
	aPID  = regexp.MustCompile(`\b(Process|one was) \d+\b`)
	aPart = regexp.MustCompile(`(T\d\d:\d\d:\d\d)\.\d+Z`) // of a second: when the bus has looked at the file
	aSize = regexp.MustCompile(`: \d[\d.]* \w+, and \d[\d.]* \w+ in its write-ahead log`)
)

// normal replaces what differs from one run to the next.
func (s *session) normal(text string) string {
	text = anID.ReplaceAllStringFunc(text, func(id string) string {
		short := id[:18]
		if s.ids[short] == "" {
			s.ids[short] = fmt.Sprintf("019cea3a-%04x-7000", len(s.ids)+1)
		}
		if len(id) == 18 {
			return s.ids[short]
		}
		return s.ids[short] + "-8c3a-5a7f3b6e9c01"
	})
	folder, err := os.Getwd()
	must(s.t, err)
	text = strings.ReplaceAll(text, folder+"/", "/srv/shop/")
	text = aPart.ReplaceAllString(text, "$1.2Z")
	text = aPID.ReplaceAllString(text, "$1 4711")
	return aSize.ReplaceAllString(text, ": 140.0 KiB, and 1.4 MiB in its write-ahead log")
}

// query runs SQL as the shell of SQLite does.
func query(t *testing.T, path, sql string) string {
	t.Helper()
	c, err := sqlite3.Open(path)
	must(t, err)
	defer c.Close()
	s, _, err := c.Prepare(sql)
	must(t, err)
	defer s.Close()
	var b strings.Builder
	for s.Step() {
		for i := range s.ColumnCount() {
			if i > 0 {
				b.WriteByte('|')
			}
			b.WriteString(s.ColumnText(i))
		}
		b.WriteByte('\n')
	}
	must(t, s.Err())
	return b.String()
}

// TestThePageOfTheLogExplainsEveryMessage holds the tables of messages
// against what the runtime hands to its logger. Debug messages are for nobody.
func TestThePageOfTheLogExplainsEveryMessage(t *testing.T) {
	text, err := os.ReadFile("../../../docs/log.md")
	must(t, err)
	shown := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (INFO|WARN|ERROR) \\| .+ \\|$").FindAllStringSubmatch(string(text), -1) {
		shown[row[1]] = row[2]
	}
	if diff := cmp.Diff(loggedMessages(t, "../../../runtime"), shown); diff != "" {
		t.Errorf("messages and their levels (-code +docs/log.md):\n%s", diff)
	}
}

// loggedMessages finds calls of a method Info, Warn or Error of something called
// log or logger, and returns the level of each message.
func loggedMessages(t *testing.T, folder string) map[string]string {
	t.Helper()
	messages := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if level, message, ok := logged(n); ok {
				messages[message] = level
			}
			return true
		})
		return nil
	})
	must(t, err)
	return messages
}

func logged(n ast.Node) (level, message string, ok bool) {
	call, isCall := n.(*ast.CallExpr)
	if !isCall || len(call.Args) == 0 {
		return "", "", false
	}
	method, isMethod := call.Fun.(*ast.SelectorExpr)
	if !isMethod {
		return "", "", false
	}
	of := ""
	switch x := method.X.(type) {
	case *ast.SelectorExpr:
		of = strings.ToLower(x.Sel.Name)
	case *ast.Ident:
		of = x.Name
	}
	text, isText := call.Args[0].(*ast.BasicLit)
	if !isText || of != "log" && of != "logger" {
		return "", "", false
	}
	switch method.Sel.Name {
	case "Info", "Warn", "Error":
		message, err := strconv.Unquote(text.Value)
		return strings.ToUpper(method.Sel.Name), message, err == nil
	}
	return "", "", false
}
