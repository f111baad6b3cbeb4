package busfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/terminal"
	"github.com/busgen/busgen/internal/output"
	"github.com/busgen/busgen/runtime/event"
)

func newDLQExport(on cli.Engines) *cobra.Command {
	var filter event.Filter
	var out string
	cmd := onFile(on, &cobra.Command{
		Use:   "export FILE",
		Short: "Write dead letters as lines of JSON",
		Long: `Export writes the dead letters that match all conditions to standard output, or
into a new file, the oldest first: one line of JSON for each, with everything
that is known about it. "busgen dlq list --help" lists the fields. The file of
the bus is not changed. "busgen dlq import" reads them again.

An import needs the whole payloads, so the values of fields that the catalogue
calls sensitive are written in clear. Export asks before it does that.

Exit status: 0 done, 1 the answer was no, or the file has no such subscription,
event type or group, 2 trouble.`,
		Example: `  busgen dlq export shop.db > dead.jsonl
  busgen dlq export shop.db --group 5b9de41c02ff --out refused.jsonl`,
	}, fileVerb{exports: true, works: true, asks: true, do: func(c *call) (string, error) {
		return "", exportLetters(c, filter, out)
	}})
	letterFlags(on, cmd, &filter)
	outFlag(cmd, &out)
	return cmd
}

func exportLetters(c *call, filter event.Filter, out string) (err error) {
	filter, err = c.known(filter)
	if err != nil {
		return err
	}
	if err := c.confirmClear(filter); err != nil {
		return err
	}
	n := 0
	export := func(w io.Writer) (err error) {
		n, err = c.file.Export(c.context(), w, filter)
		return err
	}
	if err = c.exportTo(out, export); err == nil {
		c.tell("exported %s", terminal.Counted(n, "dead letter"))
	}
	return err
}

// outFlag adds --out.
func outFlag(cmd *cobra.Command, out *string) {
	cmd.Flags().StringVarP(out, "out", "o", "", "a `file` that does not exist yet, instead of standard output")
}

// exportTo lets export write into a new file or, without a name, to standard output.
func (c *call) exportTo(out string, export func(io.Writer) error) error {
	if out == "" {
		return export(terminal.JSONWriter(c.cmd.OutOrStdout()))
	}
	err := output.CreateFrom(out, export)
	if errors.As(err, new(*output.ExistsError)) {
		return fmt.Errorf("%s exists already, and exports overwrite nothing: name another file", out)
	}
	return err
}

// confirmClear asks whether sensitive values of the dead letters may be written in clear, if they have some.
func (c *call) confirmClear(filter event.Filter) error {
	if c.yes {
		return nil
	}
	sensitive, err := c.file.SensitiveTypes(c.context())
	if err != nil || len(sensitive) == 0 {
		return err
	}
	groups, err := c.file.FailureGroups(c.context(), filter)
	if err != nil {
		return err
	}
	var written []string
	for _, eventType := range sensitive {
		if slices.ContainsFunc(groups, func(g event.FailureGroup) bool { return slices.Contains(g.Types, eventType) }) {
			written = append(written, eventType)
		}
	}
	if len(written) == 0 {
		return nil
	}
	return c.confirm("Really write the sensitive values of " + strings.Join(written, ", ") + " in clear?")
}

func newDLQImport(on cli.Engines) *cobra.Command {
	takes := arguments{most: 1, what: "a file with dead letters"}
	return onFile(on, &cobra.Command{
		Use:   "import FILE [dead.jsonl]",
		Short: "Add dead letters that were exported",
		Long: `Import reads the output of "busgen dlq export", from a file or from standard
input, and adds the dead letters that the file of the bus does not have, with
their attempts. Their subscriptions must exist. It skips dead letters that the
file has, or whose deliveries were settled there, so importing twice changes
nothing.

A bad line ends the import; the lines before it are in the file. Correct the
line and import all of them again.

With --json: matched (lines), moved (added), skipped.

Exit status: 0 done, 2 trouble.`,
		Example: `  busgen dlq import shop.db dead.jsonl
  busgen dlq export old.db | busgen dlq import shop.db`,
	}, fileVerb{takes: takes, changes: true, do: importLetters})
}

func importLetters(c *call) (string, error) {
	from, name := c.cmd.InOrStdin(), "standard input"
	if len(c.args) > 0 && c.args[0] != "-" {
		file, err := os.Open(c.args[0])
		if err != nil {
			return "", err
		}
		defer file.Close()
		from, name = io.Reader(file), c.args[0]
	}
	progress := c.progress()
	defer progress.Done()
	counts, err := c.file.Import(c.context(), &countedLines{from: from, size: sizeOf(from), progress: progress})
	progress.Done()
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return c.letterCounts(counts, "added", err)
}

// countedLines says how many lines were read. How many there are, it estimates from the size.
type countedLines struct {
	from     io.Reader
	size     int64 // 0 if it is unknown
	read     int64
	lines    int
	progress *terminal.Progress
}

// Read implements [io.Reader].
func (r *countedLines) Read(b []byte) (n int, err error) {
	n, err = r.from.Read(b)
	r.read, r.lines = r.read+int64(n), r.lines+bytes.Count(b[:n], []byte("\n"))
	whole := 0
	if r.size > 0 && r.read > 0 {
		whole = int(float64(r.lines) * float64(r.size) / float64(r.read))
	}
	r.progress.At("read", r.lines, whole, "dead letters")
	return n, err
}

// sizeOf is the size of a file; 0 for what is none.
func sizeOf(from io.Reader) int64 {
	if file, ok := from.(*os.File); ok {
		if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
			return info.Size()
		}
	}
	return 0
}
