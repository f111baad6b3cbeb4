package catalogue

import (
	"bufio"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/clitest"
	"github.com/busgen/busgen/internal/cli/terminal"
	"github.com/busgen/busgen/internal/edit"
)

// answered adds an event whose missing parts are answered line by line.
func answered(t *testing.T, e editing, event edit.Event, lines ...string) (asked, report string, err error) {
	t.Helper()
	var out strings.Builder
	report, err = newEvent(&e, event, &wizard{&terminal.Prompt{In: bufio.NewReader(strings.NewReader(strings.Join(lines, "\n"))), Out: &out}, t.Context()})
	return out.String(), report, err
}

func TestNewEventAsksForWhatIsMissing(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": described})
	asked, report, err := answered(t, editing{}, edit.Event{},
		"", "Order.Paid", "order.placed", "order.paid", "Money came: at last.",
		"order_id", "order_id: uid", "order_id: uuid", "Note: string", `note: "string?" Why: perhaps.`, "order_id: string", "lines:[]int:How many.", "",
		"note", "order_id", "yes")
	if err != nil || report != "events.yaml: added order.paid\n" {
		t.Errorf("%q, %v", report, err)
	}
	want := `Name of the event, as in order.placed:   it needs one
Name of the event, as in order.placed:   event Order.Paid is not a name for an event: character 'O' is not allowed: event names are made of lower-case letters, digits and ` + "`_`" + `, with dots between segments
Name of the event, as in order.placed:   there is an event order.placed already, in line 4 of events.yaml
Name of the event, as in order.placed: What happened, in a sentence (or nothing): What it carries, a field on each line, and an empty line at the end:
order_id: uuid, or, with a comment, note: string? What the customer wrote.
>   write a name, a colon and a type, as in order_id: uuid
>   unknown type "uid" in field order_id of payload of event order.paid; did you mean "uuid"?
> >   field Note of payload of event order.paid is not a name for a field; use lower-case letters, digits and _, and begin with a letter, as in order_id
> >   key "order_id" is already in payload of event order.paid
> > Field by which events are kept in order (or nothing):   partition_by of event order.paid names note, which is optional; events without it would have no order: choose a field that is always there
Field by which events are kept in order (or nothing): ` + `
--- events.yaml
+++ events.yaml
`
	if diff := cmp.Diff(want, asked[:min(len(want), len(asked))]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !strings.HasSuffix(asked, "\nChange events.yaml? [y/N] ") || !strings.Contains(asked, "+  order.paid:\n") {
		t.Errorf("the change was not shown:\n%s", asked)
	}
	added := `  order.paid:
    doc: 'Money came: at last.'
    partition_by: order_id
    payload:
      order_id: uuid
      note:
        type: string?
        doc: 'Why: perhaps.'
      lines:
        type: '[]int'
        doc: How many.
`
	if diff := cmp.Diff(strings.Replace(described, "  user.left", added+"  user.left", 1), read(t, "events.yaml")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNewEventAsksOnlyForWhatIsMissing(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": described})
	asked, _, err := answered(t, editing{}, edit.Event{Name: "order.paid", Doc: "Money came."}, "", "y")
	if err != nil || !strings.HasPrefix(asked, "What it carries") || !strings.Contains(read(t, "events.yaml"), "  order.paid:\n    doc: Money came.\n") {
		t.Errorf("%q, %v", asked, err)
	}
	_, report, err := answered(t, editing{diff: true}, edit.Event{Name: "order.late", Doc: "Too late."}, "", "")
	if err != nil || !strings.Contains(report, "+  order.late:") || strings.Contains(read(t, "events.yaml"), "order.late") {
		t.Errorf("%q, %v", report, err)
	}
}

func TestNewEventChangesNothingIfSomebodyLeavesOrSaysNo(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": described})
	before := clitest.Snapshot(t)
	complete := []string{"order.paid", "Money came.", "order_id: uuid", "", "", "n"}
	for n := range len(complete) + 1 {
		_, report, err := answered(t, editing{}, edit.Event{}, append(complete[:n:n], "")...)
		if report != "" || cli.StatusOf(err) != cli.StatusNo {
			t.Errorf("after %d answers: %q, %v", n, report, err)
		}
	}
	if _, _, err := answered(t, editing{}, edit.Event{Name: "order.placed"}); err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("%v", err)
	}
	if diff := cmp.Diff(before, clitest.Snapshot(t)); diff != "" {
		t.Errorf("folder (-before +after):\n%s", diff)
	}
}
