package busfile

import (
	"errors"
	"fmt"
	"strings"

	"github.com/busgen/busgen/internal/payload"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/terminal"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
)

func newCheckDB(on cli.Engines) *cobra.Command {
	var catalogue string
	cmd := onFile(on, &cobra.Command{
		Use:   "check-db FILE",
		Short: "Look for damage in a file, and for events that cannot be decoded",
		Long: `Check-db reads the whole file. It finds damaged pages and indexes, rows that
contradict one another, and payloads of open events and dead letters that cannot
be decoded: with --catalogue those that the code generated from it does not
decode, which is worth knowing before a new version of the program is deployed
(see "busgen breaking"), and else those that are not JSON.

The rules are integrity (pages and indexes are sound), reference (no row points
to one that is missing), cursor (no subscription stands beyond the log), above
(no delivery above the cursor has a row, except those of delayed events), state
(a waiting delivery has a due time, a dead letter has a time and a reason) and
route (the types of a subscription are those of its pattern). A file that breaks
one was damaged from outside, or by a mistake in busgen: keep a copy of it and
report it.

Two rules are about the tables that your program has in the file. If foreign is
broken (no table refers to one of the bus, and no trigger or index is on one),
it holds up the bus. If program is (each row is in its indexes, and has a value
where it must), that is a matter of the program alone. Its references and CHECK
constraints are not looked at: "PRAGMA foreign_key_check" and "PRAGMA
integrity_check" in the sqlite3 shell do that.

It works beside a running program, and changes nothing.

With --json: problems (rule, count, samples), undecodable (type, open, dead,
samples with id and error), open, dead (how many deliveries there are).

Exit status: 0 all is well, 1 something was found, 2 trouble.`,
		Example: `  busgen check-db shop.db
  busgen check-db shop.db --catalogue events.yaml`,
	}, fileVerb{opens: true, do: func(c *call) (string, error) { return checkDB(c, catalogue) }})
	catalogueFlag(cmd, &catalogue)
	return cmd
}

func catalogueFlag(cmd *cobra.Command, catalogue *string) {
	cmd.Flags().StringVar(catalogue, "catalogue", "", "`file` with the catalogue that payloads must fit")
	cmd.MarkFlagFilename("catalogue", "yaml", "yml")
}

// catalogueOf reads the catalogue of the flag --catalogue. It returns nil if the
// flag is not given.
func catalogueOf(path string) (*catalog.Catalogue, error) {
	if path == "" {
		return nil, nil
	}
	return cli.LoadCatalogue([]string{path})
}

func checkDB(c *call, catalogue string) (string, error) {
	fits, err := catalogueOf(catalogue)
	if err != nil {
		return "", err
	}
	var check func(event.Unsettled) error
	if fits != nil {
		check = func(e event.Unsettled) error {
			return payload.CheckDecode(fits, cli.TypeOf(fits, e), e.Version, e.Payload)
		}
	}
	if err := c.open(); err != nil {
		return "", damaged(err)
	}
	progress := c.progress()
	defer progress.Done()
	report, err := c.file.Check(c.context(), counting(progress, check))
	progress.Done()
	if err != nil {
		return "", damaged(err)
	}
	text := c.checkReport(report)
	if c.json {
		if text, err = cli.Document(report); err != nil {
			return "", err
		}
	}
	if !report.OK() {
		err = cli.No(errors.New("something is wrong with " + c.path))
	}
	return text, err
}

// counting says how many events were checked whose deliveries are open or dead.
func counting(progress *terminal.Progress, check func(event.Unsettled) error) func(event.Unsettled) error {
	if check == nil {
		check = inspect.IsJSON
	}
	n := 0
	return func(e event.Unsettled) error {
		n++
		progress.At("checked", n, 0, "events")
		return check(e)
	}
}

// damaged makes the error about a corrupt file the answer no.
func damaged(err error) error {
	var storage *event.StorageError
	if errors.As(err, &storage) && storage.Fault == event.Corrupt {
		return cli.No(err)
	}
	return err
}

func (c *call) checkReport(report inspect.Report) string {
	var b strings.Builder
	for _, p := range report.Problems {
		fmt.Fprintf(&b, "%s: %s\n", c.screen.Paint(terminal.Red, p.Rule), terminal.Counted(p.Count, "problem"))
		for _, sample := range p.Samples {
			fmt.Fprintf(&b, "  %s\n", terminal.Clean(sample))
		}
	}
	for _, u := range report.Undecodable {
		fmt.Fprintf(&b, "%s: %s and %s cannot be decoded\n", c.screen.Paint(terminal.Red, u.Type),
			cli.OpenDeliveries(u.Open), terminal.Counted(u.Dead, "dead letter"))
		for _, sample := range u.Samples {
			fmt.Fprintf(&b, "  %s: %s\n", cli.ShortID(sample.ID), terminal.Clean(sample.Error))
		}
	}
	if report.OK() {
		fmt.Fprintf(&b, "All is well, with %s and %s.\n", cli.OpenDeliveries(report.Open),
			terminal.Counted(report.Dead, "dead letter"))
	}
	return b.String()
}
