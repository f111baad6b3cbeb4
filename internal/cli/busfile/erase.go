package busfile

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/terminal"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
)

func newErase(on cli.Engines) *cobra.Command {
	var e inspect.Erasure
	takes := arguments{least: 1, most: -1, what: "what names the person: an address, a customer's number"}
	cmd := onFile(on, &cobra.Command{
		Use:   "erase FILE VALUE…",
		Short: "Erase a person from events, dead letters, errors and keys",
		Long: `Erase takes a person out of the file of a bus. The values name the person: an
e-mail address, a customer's number, a name. An event is about the person if a
field that the catalogue calls personal, or the field by which it is
partitioned, is one of the values; with --field it is the field at that path.
The file knows these fields from the program that has opened it last. In a type
without personal fields a key alone may be somebody else's: choose such types
with --type. --dry-run counts by type.

Of such an event, personal fields, metadata, errors, stacks, logs and the
idempotency key are erased, and its dead letters are discarded. In all other
texts of the bus the values are replaced by [erased] where they stand as a word,
and not where they are a part of another address, name or key. Events of others
stay as they are. The audit gets one entry that names nobody.

Events with open deliveries are left alone and counted: run the command again
when they are settled, or use --cancel-open. In the end the file is rewritten
and its write-ahead log emptied, so that nothing is left in unused space;
publishers wait meanwhile. An erasure that was killed is completed by running it
again. Nothing brings back what was erased. Backups are not touched.

With --json: events, dead_letters, attempts, texts, open, mentions, keyed,
parts, clean, open_ids, mention_ids, types (type, events, open, mentions,
keyed).

Exit status: 0 done, 1 events about the person are still open, or only --type
can tell whose they are, 2 trouble.`,
		Example: `  busgen erase shop.db ada@example.org --dry-run
  busgen erase shop.db ada@example.org c-4711 --actor eve --yes
  busgen erase shop.db 4711 --field customer.number --type 'order.*' --yes`,
	}, fileVerb{takes: takes, changes: true, asks: true, works: true, do: func(c *call) (string, error) {
		return erase(c, e)
	}})
	flags := cmd.Flags()
	flags.BoolVar(&e.DryRun, "dry-run", false, "count, and change nothing")
	flags.StringVar(&e.Field, "field", "", "the `path` of the field that names the person, such as customer.email")
	flags.StringSliceVar(&e.Types, "type", nil, "only events whose type matches one of these `globs`")
	flags.BoolVar(&e.Whole, "whole", false, "erase all fields of these events, not only the personal ones")
	flags.BoolVar(&e.CancelOpen, "cancel-open", false, "cancel open deliveries of these events first")
	flags.BoolVar(&e.KeepSpace, "keep-space", false,
		"do not rewrite the file: what was deleted stays readable in unused space for a while")
	completeFlag(on, cmd, "type", typeNames)
	return cmd
}

func erase(c *call, e inspect.Erasure) (string, error) {
	e.Values = c.args
	if !e.DryRun {
		if err := c.confirm("Erase this person from " + c.path + "? Nothing brings it back."); err != nil {
			return "", err
		}
	}
	progress := c.progress()
	defer progress.Done()
	e.Progress = func(n event.Erased) { progress.At("erased", n.Events, 0, "events") }
	n, err := c.file.Erase(c.context(), e)
	progress.Done()
	if err != nil && n.Events+n.DeadLetters+n.Texts+n.Open+n.Mentions+n.Keyed+n.Parts == 0 {
		return "", err
	}
	report := erasedText(e, n)
	if c.json {
		text, wrong := cli.Document(n)
		report, err = text, errors.Join(err, wrong)
	}
	switch {
	case err != nil:
		return report, fmt.Errorf("the erasure is not complete, run it again: %w", err)
	case n.Open > 0 && !e.DryRun:
		return report, cli.No(fmt.Errorf("%s about the person left as they are, because deliveries are open: "+
			"run it again when they are settled, or with --cancel-open", terminal.Counted(n.Open, "event")))
	case n.Keyed > 0 && !e.DryRun:
		return report, cli.No(fmt.Errorf("%s left as they are, because only their key is one of the values: "+
			"choose the types that are about the person with --type, or the field with --field",
			terminal.Counted(n.Keyed, "event")))
	}
	return report, nil
}

func erasedText(e inspect.Erasure, n event.Erased) string {
	verb := "erased"
	if e.DryRun {
		verb = "would erase"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s with %s and %s, and %s elsewhere\n", verb, terminal.Counted(n.Events, "event"),
		terminal.Counted(n.DeadLetters, "dead letter"),
		terminal.Counted(n.Attempts, "failed attempt"), terminal.Counted(n.Texts, "text"))
	list := func(count int, what string, ids []string) {
		if count > 0 {
			fmt.Fprintf(&b, "%s %s: %s\n", terminal.Counted(count, "event"), what, strings.Join(ids, ", "))
		}
	}
	var open, mentions []string
	for _, id := range n.OpenIDs {
		open = append(open, cli.ShortID(id))
	}
	for _, id := range n.MentionIDs {
		mentions = append(mentions, cli.ShortID(id))
	}
	const shown = 5
	list(n.Open, "about the person with open deliveries", open[:min(shown, len(open))])
	list(n.Mentions, "of others with the person in another field, which stay as they are (mark the field personal, or "+
		"use --field)", mentions[:min(shown, len(mentions))])
	if n.Keyed > 0 {
		fmt.Fprintf(&b, "%s with a value as their key, of types without personal fields, which stay as they are (choose "+
			"with --type or --field): %s\n",
			terminal.Counted(n.Keyed, "event"), keyedTypes(n))
	}
	if n.Parts > 0 {
		fmt.Fprintf(&b, "%s with a value as a part of a longer name or address, which stay as they are (give that name "+
			"too, if it is the person's)\n",
			terminal.Counted(n.Parts, "text"))
	}
	if e.DryRun && len(n.Types) > 1 {
		for _, t := range n.Types {
			fmt.Fprintf(&b, "  %s: %s, %d open, %d mentioned, %d by key\n", terminal.Clean(t.Type),
				terminal.Counted(t.Events, "event"), t.Open, t.Mentions, t.Keyed)
		}
	}
	if !n.Clean && !e.DryRun {
		b.WriteString("the file was not rewritten: what was erased may still be readable in unused space\n")
	}
	return b.String()
}

func keyedTypes(n event.Erased) string {
	var names []string
	for _, t := range n.Types {
		if t.Keyed > 0 {
			names = append(names, terminal.Clean(t.Type))
		}
	}
	return strings.Join(names, ", ")
}
