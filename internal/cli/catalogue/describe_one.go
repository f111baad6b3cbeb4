package catalogue

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/cli/terminal"
)

// describeOne describes one event in full.
func describeOne(e *catalog.Event, screen terminal.Screen) string {
	var b strings.Builder
	b.WriteString(screen.Paint(terminal.Bold, e.Label()) + "\n")
	if e.Doc != "" {
		b.WriteString(terminal.CleanLines(e.Doc) + "\n")
	}
	b.WriteString("\n" + facts(e).Render(screen))
	if len(e.Fields) > 0 {
		b.WriteString("\n" + fieldTable(e.Fields).Render(screen))
	}
	for _, old := range slices.Backward(e.History) {
		b.WriteString("\n" + oldVersion(old, screen))
	}
	if len(e.Declared()) > 0 {
		b.WriteString("\n" + subscriptionTable(e).Render(screen))
	}
	if len(e.Schedules) > 0 {
		b.WriteString("\n" + timesTable(e.Schedules).Render(screen))
	}
	for _, example := range e.Examples {
		var pretty bytes.Buffer
		json.Indent(&pretty, example.JSON, "", "  ") // the reader has checked it
		b.WriteString("\n" + terminal.CleanLines(pretty.String()) + "\n")
	}
	return b.String()
}

// oldVersion describes a former payload of an event.
func oldVersion(old *catalog.OldShape, screen terminal.Screen) string {
	text := screen.Paint(terminal.Bold, "version "+strconv.Itoa(old.Version.V)) + "\n"
	if old.Doc != "" {
		text += terminal.CleanLines(old.Doc) + "\n"
	}
	if len(old.Type.Fields) > 0 {
		text += fieldTable(old.Type.Fields).Render(screen)
	}
	return text
}

// facts lists what the catalogue says about an event besides its payload.
func facts(e *catalog.Event) *terminal.Table {
	table := &terminal.Table{Columns: []terminal.Column{{}, {Least: 20}}}
	row := func(name, text string) {
		if text != "" {
			table.Row(name, text)
		}
	}
	if e.Name.V != e.Label() {
		row("on the wire", e.Name.V)
	}
	row("schema", e.Schema.V)
	if e.CloudEvents != nil {
		row("CloudEvent", strings.Join(e.CloudEvents.Lines(e), ", "))
	}
	if e.Version.V > 1 {
		row("version", strconv.Itoa(e.Version.V))
	}
	row("formerly", strings.Join(texts(e.Aliases), ", "))
	row("deprecated", e.Deprecated.V)
	row("owner", e.Owner.V)
	row("tags", strings.Join(texts(e.Tags), ", "))
	row("policy", deliveryInShort(e.Settings))
	if e.PartitionBy != nil {
		row("in order by", e.PartitionBy.Label())
	}
	if e.DedupeBy != nil {
		row("dedupe key", e.DedupeBy.Label())
	}
	if e.AwaitBy != nil {
		row("awaited by", e.AwaitBy.Label())
	}
	for _, use := range e.Settings.Limits.V {
		row("limit "+use.String(), use.Meaning())
	}
	for _, h := range e.Headers {
		row("header "+h.Name.V, strings.TrimSpace(h.InShort()+" "+inBrackets(h.Doc)))
	}
	if e.Result != nil {
		row("answered with", strings.TrimSpace(e.Result.Type.Text+" "+inBrackets(e.Result.Doc)))
	}
	row("mixins", strings.Join(catalog.MixinNames(e.Mixins), ", "))
	row("reserved", strings.Join(texts(e.Reserved), ", "))
	row("declared at", origin(e.Name.Pos))
	row("in Go", e.InGo(e.GoName))
	return table
}

func inBrackets(text string) string {
	if text == "" {
		return ""
	}
	return "(" + text + ")"
}

func texts(values []catalog.Value[string]) []string {
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = v.V
	}
	return all
}

func fieldTable(fields []*catalog.Field) *terminal.Table {
	table := &terminal.Table{Columns: []terminal.Column{
		{Title: "FIELD", Least: 12}, {Title: "TYPE", Least: 10}, {Title: "DOC", Least: 20},
	}}
	for _, f := range fields {
		doc := f.Doc
		if f.Default.Written() {
			doc = strings.TrimSpace("Default: " + string(f.Default.V) + ". " + doc)
		}
		if len(f.Was) > 0 {
			doc = strings.TrimSpace("Formerly " + strings.Join(texts(f.Was), ", ") + ". " + doc)
		}
		if f.Name.V != f.Label() {
			doc = strings.TrimSpace("In JSON: " + f.Name.V + ". " + doc)
		}
		if f.Mixin != nil {
			doc = strings.TrimSpace("Of " + f.Mixin.Name.V + ". " + doc)
		}
		switch {
		case f.Sensitive.V && f.Personal.V:
			doc = strings.TrimSpace("Sensitive, personal. " + doc)
		case f.Sensitive.V:
			doc = strings.TrimSpace("Sensitive. " + doc)
		case f.Personal.V:
			doc = strings.TrimSpace("Personal. " + doc)
		}
		if f.Deprecated.Written() {
			doc = strings.TrimSpace("Deprecated: " + f.Deprecated.V + " " + doc)
		}
		table.Row(f.Label(), f.Type.Text, doc)
	}
	return table
}

func subscriptionTable(e *catalog.Event) *terminal.Table {
	table := &terminal.Table{Columns: []terminal.Column{
		{Title: "SUBSCRIPTION", Least: 12}, {Title: "POLICY", Least: 16}, {Title: "DOC", Least: 20},
	}}
	for _, s := range e.Subscriptions {
		table.Row(s.Name.V, deliveryInShort(s.Settings), subscriptionDoc(s))
	}
	for _, s := range e.Patterns {
		table.Row(s.Name.V, deliveryInShort(s.For(e)), strings.TrimSpace("For "+s.Pattern()+". "+subscriptionDoc(&s.Subscription)))
	}
	return table
}

// subscriptionDoc is what a subscription is for, with its group and former names.
func subscriptionDoc(s *catalog.Subscription) string {
	doc := s.Doc
	if s.Group != nil {
		doc = strings.TrimSpace("In group " + s.Group.Name.V + ". " + doc)
	}
	if len(s.Aliases) > 0 {
		doc = strings.TrimSpace("Formerly " + strings.Join(texts(s.Aliases), ", ") + ". " + doc)
	}
	return doc
}

// patternTable lists the subscriptions that are for patterns.
func patternTable(subscriptions []*catalog.PatternSubscription) *terminal.Table {
	table := &terminal.Table{Columns: []terminal.Column{
		{Title: "SUBSCRIPTION", Least: 12}, {Title: "PATTERN", Least: 12}, {Title: "EVENTS", Right: true}, {Title: "DOC", Least: 20},
	}}
	for _, s := range subscriptions {
		table.Row(s.Name.V, s.Pattern(), strconv.Itoa(len(s.Events)), subscriptionDoc(&s.Subscription))
	}
	return table
}

func timesTable(schedules []*catalog.Schedule) *terminal.Table {
	table := &terminal.Table{Columns: []terminal.Column{
		{Title: "SCHEDULE", Least: 12}, {Title: "AT", Least: 16}, {Title: "MISSED"}, {Title: "PAYLOAD", Least: 12}, {Title: "DOC", Least: 20},
	}}
	for _, s := range schedules {
		table.Row(s.Name.V, s.When(), s.Missed.V, string(s.Payload), s.Doc)
	}
	return table
}
