package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/busgen/busgen/internal/cli"
)

func TestHelpForAVerbThatIsNotThereIsTrouble(t *testing.T) {
	for command, want := range map[string]string{
		"busgen help nope":          `there is no verb "nope"`,
		"busgen help stauts":        `there is no verb "stauts": did you mean status?`,
		"busgen help dlq lsit":      `busgen dlq has no verb "lsit": did you mean list`,
		"busgen help status nope":   `busgen status has no verb "nope"`,
		"busgen help dlq list nope": `busgen dlq list has no verb "nope"`,
	} {
		if got := typed(t, command, ""); got.Status != cli.StatusTrouble || got.Stdout != "" || !strings.Contains(got.Stderr, want) {
			t.Errorf("%s: %+v, want %q", command, got, want)
		}
	}
	for command, want := range map[string]string{
		"busgen help":           "busgen reads a catalogue",
		"busgen help status":    "Status shows what is wrong",
		"busgen help dlq retry": "Retry makes dead letters due now",
		"busgen help help":      "Help",
		"busgen dlq":            "A dead letter is a delivery",
	} {
		if got := typed(t, command, ""); got.Status != 0 || !strings.Contains(got.Stdout, want) {
			t.Errorf("%s: %+v, want %q", command, got, want)
		}
	}
}

func TestTheVersionIsAFlagToo(t *testing.T) {
	want := typed(t, "busgen version", "")
	if got := typed(t, "busgen --version", ""); got != want || got.Status != 0 || !strings.Contains(got.Stdout, "generation contract") {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestTheNumberOfAFlagIsDecimal(t *testing.T) {
	for _, cmd := range root().Commands() {
		for _, verb := range append(cmd.Commands(), cmd) {
			verb.Flags().VisitAll(func(f *pflag.Flag) {
				if f.Value.Type() != "int" {
					return
				}
				if err := f.Value.Set("010"); err != nil || f.Value.String() != "10" {
					t.Errorf("%s --%s 010 is %s, %v", verb.CommandPath(), f.Name, f.Value, err)
				}
			})
		}
	}
}

func TestAFlagThatDoesNotFitIsExplainedInWords(t *testing.T) {
	for command, want := range map[string]string{
		"busgen dlq retry x.db --rate abc":   `--rate takes a number, not "abc": see "busgen dlq retry --help"`,
		"busgen dlq retry x.db --limit 1.5":  `--limit takes a whole number, not "1.5"`,
		"busgen dlq retry x.db -n abc":       `--limit takes a whole number, not "abc"`,
		"busgen dlq retry x.db -n 0x10":      `--limit takes a whole number, not "0x10"`,
		"busgen dlq retry x.db --rate 1e999": `--rate takes a number that is not as large as "1e999"`,
		"busgen dlq retry x.db --all=5":      `--all takes true or false, not "5"`,
		"busgen dlq list x.db --since maybe": `--since is "maybe": want a time, as in 2026-03-14`,
		"busgen dlq purge x.db --until ":     "flag needs an argument",
	} {
		got := typed(t, command, "")
		if got.Status != cli.StatusTrouble || !strings.Contains(got.Stderr, want) || strings.Contains(got.Stderr, "strconv") {
			t.Errorf("%s: %+v, want %q", command, got, want)
		}
	}
}

func TestVersionNamesWhatMattersInABugReport(t *testing.T) {
	got := busgen(t, "version")
	if got.Status != 0 || !strings.HasPrefix(got.Stdout, "busgen ") ||
		!strings.Contains(got.Stdout, "\ngo1.") || !strings.HasSuffix(got.Stdout, "\ngeneration contract 1, and code from contract 1 on\nfile format 1\n") {
		t.Errorf("%+v", got)
	}
	var fields map[string]any
	asJSON := busgen(t, "version --json")
	if err := json.Unmarshal([]byte(asJSON.Stdout), &fields); err != nil || fields["contract"] != 1.0 || fields["oldest_contract"] != 1.0 ||
		fields["file_format"] != 1.0 || fields["version"] == "" || !strings.HasPrefix(fmt.Sprint(fields["go"]), "go1.") {
		t.Errorf("%+v: %v", asJSON, err)
	}
}

func TestWrongCommandLinesAreExplained(t *testing.T) {
	inFolder(t, nil)
	for command, want := range map[string]string{
		"":                    "there is no events.yaml in this folder",
		"genrate":             `there is no verb "genrate": did you mean generate?`,
		"frobnicate":          `there is no verb "frobnicate": see "busgen --help"`,
		"generate --ouput x":  "there is no flag --ouput: did you mean --out?",
		"check --frobnicate":  `there is no flag --frobnicate: see "busgen check --help"`,
		"check -z":            `see "busgen check --help"`,
		"generate -o":         `see "busgen generate --help"`,
		"generate a.yaml b.c": "busgen generate takes one catalogue, not 2",
		"a.yaml b.yaml":       "busgen takes one catalogue, not 2",
		"init a b":            "busgen init takes one folder, not 2",
		"version x":           `busgen version takes no argument, but got "x"`,
		"generate nope.yaml":  "there is no catalogue at nope.yaml",
	} {
		t.Run("busgen "+command, func(t *testing.T) {
			busgen(t, command).WantsErrors(t, cli.StatusTrouble, "busgen: ", want)
		})
	}
}

func TestEveryVerbHasAManualWithItsExitStatus(t *testing.T) {
	for _, command := range []string{"--help", "generate -h", "help check", "init --help"} {
		got := busgen(t, command)
		if got.Status != 0 || got.Stderr != "" || !strings.Contains(got.Stdout, "Exit status: 0") || !strings.Contains(got.Stdout, "Examples:") {
			t.Errorf("busgen %s: %+v", command, got)
		}
	}
}

func TestAReportThatCannotBePrintedIsAnError(t *testing.T) {
	var stderr bytes.Buffer
	status := run(t.Context(), []string{"version"}, strings.NewReader(""), fullDisk{}, &stderr)
	if status != cli.StatusTrouble || stderr.String() != "busgen: cannot print the report: disk full\n" {
		t.Errorf("status %d, %q", status, stderr.String())
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestTheManualFitsAScreen(t *testing.T) {
	cmd := root()
	if cmd.Example == "" || !strings.Contains(cmd.Long, "Exit status: ") || cmd.Short == "" {
		t.Error("the manual is incomplete")
	}
	for line := range strings.Lines(cmd.Long) {
		if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}
