package catalogue

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/cli/terminal"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/runtime/retry"
)

// policyText shows groups of subjects one below the other.
func policyText(all []subject, screen terminal.Screen) string {
	var parts []string
	for _, g := range groups(all) {
		parts = append(parts, groupText(g, screen))
	}
	return strings.Join(parts, "\n\n")
}

func groupText(g *group, screen terminal.Screen) string {
	var b strings.Builder
	for _, line := range heading(g.members, lineWidth(screen)) {
		b.WriteString(screen.Paint(terminal.Bold, line) + "\n")
	}
	b.WriteString("\n" + settingsTable(g.settings).Render(screen))
	b.WriteString("\n" + scheduleTable(g.settings).Render(screen))
	b.WriteString("\n" + timelines(g.settings, lineWidth(screen)))
	for _, note := range append(notes(g.settings), breakerNotes(g.settings)...) {
		b.WriteString(note + "\n")
	}
	return b.String()
}

// lineWidth is the width of timelines and headings.
func lineWidth(screen terminal.Screen) int {
	if screen.Width > 0 {
		return screen.Width
	}
	return 100
}

// heading breaks the names of the members into lines.
func heading(members []subject, width int) []string {
	lines := []string{""}
	for i, name := range titles(members) {
		if i > 0 {
			lines[len(lines)-1] += ","
		}
		switch last := &lines[len(lines)-1]; {
		case *last == "":
			*last = name
		case terminal.Width(*last)+len(" ")+terminal.Width(name)+len(",") <= width:
			*last += " " + name
		default:
			lines = append(lines, name)
		}
	}
	return lines
}

// titles returns the names of the members, an event type together with its
// subscriptions.
func titles(members []subject) []string {
	var all []string
	for i := 0; i < len(members); {
		m := members[i]
		i++
		var also []string
		for m.subscription == "" && i < len(members) && members[i].event == m.event {
			also = append(also, members[i].member())
			i++
		}
		title := m.String()
		if also != nil {
			title += " (also → " + strings.Join(also, ", ") + ")"
		}
		all = append(all, title)
	}
	return all
}

func settingsTable(s catalog.Settings) *terminal.Table {
	table := &terminal.Table{Columns: []terminal.Column{
		{Title: "SETTING"}, {Title: "VALUE", Least: 10},
		{Title: "FROM", Least: 12, Style: func(text string) terminal.Style {
			if text == builtIn {
				return terminal.Dim
			}
			return terminal.Plain
		}},
	}}
	for _, setting := range s.List() {
		table.Row(setting.Key, settingText(setting.Value), origin(setting.Pos))
	}
	return table
}

func settingText(value any) string {
	if list, ok := value.([]string); ok {
		return strings.Join(list, ", ")
	}
	return fmt.Sprint(value)
}

const builtIn = "built in"

func origin(pos diag.Position) string {
	if !pos.IsKnown() {
		return builtIn
	}
	return fmt.Sprintf("%s:%d", pos.File, pos.Line)
}

// mostRows is the number of attempts that a table shows at most.
const mostRows = 12

func scheduleTable(s catalog.Settings) *terminal.Table {
	table := &terminal.Table{Columns: []terminal.Column{
		{Title: "ATTEMPT", Right: true}, {Title: "DELAY", Right: true}, {Title: "JITTER WINDOW"}, {Title: "CUMULATIVE", Right: true},
	}}
	if opensAlone(s) {
		table.Columns = append(table.Columns, terminal.Column{Title: "WITH BREAKER", Right: true})
	}
	attempts := attemptsOf(s, s.Policy())
	for i, a := range attempts {
		if len(attempts) > mostRows && i >= mostRows-2 && i < len(attempts)-1 {
			if i == mostRows-2 {
				table.Row(append([]string{"…"}, make([]string, len(table.Columns)-1)...)...)
			}
			continue
		}
		row := []string{strconv.Itoa(a.Attempt), catalog.Brief(a.Delay), windowText(a.Step), catalog.Brief(a.Total)}
		if opensAlone(s) {
			row = append(row, catalog.Brief(a.at))
		}
		table.Row(row...)
	}
	return table
}

func windowText(step retry.Step) string {
	if step.Lo == step.Hi {
		return ""
	}
	return catalog.Brief(step.Lo) + " to " + catalog.Brief(step.Hi)
}

// notes returns sentences about dead letters and expiry.
func notes(s catalog.Settings) []string {
	p := s.Policy()
	schedule := attemptsOf(s, p)
	waits := schedule[len(schedule)-1].at
	limit := " without a timeout"
	if s.Timeout.V > 0 {
		limit = " of at most " + catalog.Short(s.Timeout.V)
	}
	attempts := fmt.Sprintf("%d attempts", p.MaxAttempts) + limit
	if p.MaxAttempts == 1 {
		attempts = "one attempt" + limit
	}
	all := []string{"A dead letter after " + attempts + "."}
	if waits > 0 {
		all[0] = "A dead letter after " + catalog.Brief(waits) + " of waiting and " + attempts + "."
	}
	for _, use := range s.Limits.V {
		all = append(all, "Limit "+use.String()+": "+strings.TrimSuffix(terminal.Clean(use.Reason()), ".")+".")
	}
	if s.ExpiresAfter.V == 0 {
		return all
	}
	for _, step := range schedule {
		if step.Total >= s.ExpiresAfter.V {
			return append(all, fmt.Sprintf("It expires after %s: attempt %d would come too late.", catalog.Short(s.ExpiresAfter.V), step.Attempt))
		}
	}
	return append(all, fmt.Sprintf("It expires after %s, whatever attempts are left.", catalog.Short(s.ExpiresAfter.V)))
}
