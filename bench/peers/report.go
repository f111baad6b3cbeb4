package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// A row is a peer with its default settings, or tuned.
type row struct {
	peer    peer
	tuned   bool
	results map[string]result
}

func (r row) title() string {
	if r.tuned {
		return r.peer.name + ", tuned"
	}
	return r.peer.name
}

// report prints the table as Markdown, with what a reader must know beside it.
func report(w io.Writer, rows []row, s scale, took time.Duration) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured on %s in %.0f s, with %s on %s/%s, %d cores.\n\n", time.Now().Format("2006-01-02"), took.Seconds(),
		runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	b.WriteString("| |")
	for _, c := range cases {
		fmt.Fprintf(&b, " %s |", c.name)
	}
	b.WriteString("\n|---|" + strings.Repeat("--:|", len(cases)) + "\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s |", r.title())
		for _, c := range cases {
			fmt.Fprintf(&b, " %s |", r.results[c.name])
		}
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	for _, c := range cases {
		doc := c.doc
		if c.name == "used file" {
			doc += fmt.Sprintf(" (%s of them)", number(float64(s.done)))
		}
		fmt.Fprintf(&b, "* %s: %s.\n", c.name, doc)
	}
	b.WriteString("\n| | version | by default | tuned | what it does not sync | note | documentation |\n|---|---|---|---|---|---|---|\n")
	for i, r := range rows {
		if i > 0 && rows[i-1].peer.name == r.peer.name {
			continue
		}
		p := r.peer
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n", p.name, p.versions(), p.defaults, p.tuned, p.syncs, p.notes, p.docs)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// settings prints what each peer is set to, for the help of the program.
func settings(w io.Writer) {
	fmt.Fprintln(w, "\nAll files are in WAL mode with synchronous=FULL. What is measured, and how each is set:")
	for _, p := range peers {
		fmt.Fprintf(w, "\n%s\n", p.name)
		for _, line := range []struct{ name, text string }{
			{"versions", p.versions()}, {"by default", p.defaults}, {"tuned", p.tuned}, {"syncs", p.syncs},
			{"note", p.notes}, {"documentation", p.docs},
		} {
			fmt.Fprintf(w, "  %-14s %s\n", line.name, line.text)
		}
	}
}

// versions returns the versions of the peer and of its SQLite library.
func (p peer) versions() string {
	versions := moduleVersions()
	text := p.module + versions[p.module]
	if p.driver == "" {
		return text + ", github.com/ncruces/go-sqlite3" + versions["github.com/ncruces/go-sqlite3"]
	}
	return text + ", " + p.driver + versions[p.driver] + ", SQLite " + sqliteVersion(p.driver)
}

// moduleVersions returns the versions of the modules in this program, each with a space before it. Those
// that come from a folder have none.
func moduleVersions() map[string]string {
	versions := map[string]string{}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return versions
	}
	for _, m := range info.Deps {
		if m.Replace == nil {
			versions[m.Path] = " " + m.Version
		}
	}
	return versions
}
