package record

import (
	"fmt"
	"slices"

	"github.com/busgen/busgen/internal/breaking"
	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/output"
)

// A Result is the outcome of comparing a catalogue with a record.
type Result struct {
	File     output.File   // the new record
	Findings diag.Findings // what the change does to stored events, in the order of the catalogue
	Changes  []string      // lines to remove (-) from the file in the folder and to add (+), sorted
}

// Options say how to compare a catalogue with a record.
type Options struct {
	Catalogue string                            // the path of the catalogue, from the folder of the file
	Read      func(file string) ([]byte, error) // the files of the catalogue
	// Present is the file in the folder. Findings accepted there, and not in the record yet, are accepted.
	Present []byte
	Accept  bool // accept all findings
}

// Compare compares a catalogue with a record. If that is nil, the catalogue begins a new record. The error is
// that of Options.Read.
func Compare(c *catalog.Catalogue, before *Record, o Options) (Result, error) {
	source := diag.NewSource(o.Read)
	facts := FactsOf(c)
	lines := linesOf(facts)
	if before == nil {
		return result(file(o.Catalogue, c.File, lines), nil, o.Present), nil
	}
	r := comparison{after: c, before: before, now: before.facts, options: o, facts: facts, lines: lines, removed: map[string]bool{}}
	r.findings = append(slices.Clone(before.findings), checkSamples(c, before.samples, source.Place)...)
	err := r.settleForks(source.Place)
	if err == nil {
		err = r.compare()
	}
	if err != nil {
		return Result{}, err
	}
	for line := range r.removed {
		lines = append(lines, line)
	}
	for _, key := range r.accept() {
		lines = append(lines, acceptedLine(key))
	}
	return result(file(o.Catalogue, c.File, lines), r.findings, o.Present), source.Err()
}

type comparison struct {
	after    *catalog.Catalogue
	before   *Record
	now      []Fact // those of the record, with one side of each fork that is settled
	options  Options
	facts    []Fact
	lines    []string // the facts of the present catalogue, as lines
	removed  map[string]bool
	findings diag.Findings
	settled  []string // keys of forks that the catalogue settles
}

// compare compares the catalogue with each variant of the record, and of earlier records.
func (r *comparison) compare() error {
	all := variants(r.now)
	for _, one := range r.before.earlier {
		all = append(all, variants(one.facts)...)
	}
	if len(all) == 1 && r.same() {
		return nil
	}
	seen := map[string]bool{}
	for _, facts := range all {
		if len(facts) == 0 {
			continue // the record has an older form
		}
		before := r.read(facts)
		found, err := r.changesSince(before)
		if err != nil {
			return err
		}
		for _, f := range found {
			if id := fmt.Sprint(f.Pos, f.Rule, f.Message, f.Hint, f.Direction); !seen[id] {
				seen[id] = true
				r.findings = append(r.findings, f)
			}
		}
		for _, f := range RemovedFacts(before, r.after) {
			r.removed[f.String()] = true
		}
	}
	r.findings.Sort(r.after.Files)
	return nil
}

func (r *comparison) changesSince(before *catalog.Catalogue) (diag.Findings, error) {
	return breaking.Compare(breaking.State{Catalogue: before, Read: r.before.readText}, breaking.State{Catalogue: r.after, Read: r.options.Read})
}

// same reports whether the record agrees with the catalogue, which is quicker than comparing.
func (r *comparison) same() bool {
	now := map[string]bool{}
	for _, line := range r.lines {
		now[line] = true
	}
	was := 0
	removed := map[string]bool{}
	for _, f := range r.now {
		line := f.String()
		switch {
		case now[line]:
			was++
		case f.IsRemoved():
			removed[line] = true
		default:
			return false
		}
	}
	if was != len(now) {
		return false
	}
	r.removed = removed
	return true
}

// read returns the catalogue that facts describe. If a merge has lost all lines of a type, read assumes that
// the type is as in the present catalogue.
func (r *comparison) read(facts []Fact) *catalog.Catalogue {
	added := map[string]bool{}
	for {
		c, wrong := ReadFacts(facts)
		again := false
		for _, one := range wrong {
			if one.Missing == "" || added[one.Missing] {
				continue
			}
			added[one.Missing] = true
			for _, f := range r.facts {
				if typeOf(f) == one.Missing {
					facts, again = append(slices.Clip(facts), f), true
				}
			}
		}
		if again {
			continue
		}
		for _, one := range wrong {
			r.lineFinding(one)
		}
		return c
	}
}

func (r *comparison) lineFinding(wrong FactError) {
	f := lineFinding(wrong.NameAt, wrong.String(), wrong.Message)
	f.Hint = "use the busgen that wrote it, or generate with --accept-wire to begin a new record"
	r.findings = append(r.findings, f)
}

// accept turns accepted findings into notes, and returns the accepted keys for the new file.
func (r *comparison) accept() []string {
	keys := slices.Concat(r.before.accepted, r.before.merged, r.settled)
	present := slices.Clone(r.before.merged)
	if IsRecord(r.options.Present) {
		present = append(present, Read(FileName, r.options.Present).accepted...)
	}
	for i, f := range r.findings {
		isNew := !slices.Contains(r.before.accepted, f.Key) && slices.Contains(present, f.Key)
		if !Refused(f) || !r.options.Accept && !isNew {
			continue
		}
		r.findings[i] = f.With(diag.Note)
		r.findings[i].Hint = "accepted with --accept-wire"
		keys = append(keys, f.Key)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// Refused reports whether a finding prevents generating code, because stored events would be lost or
// changed.
func Refused(f *diag.Finding) bool {
	return f.Severity >= diag.Warning && f.Direction != diag.Forward
}
