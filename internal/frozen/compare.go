package frozen

import (
	"fmt"
	"slices"

	"github.com/busgen/busgen/internal/breaking"
	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/emit"
)

// A Result is what becomes of a record.
type Result struct {
	File     emit.File     // as it should be
	Findings diag.Findings // what the change does to stored events, in the order of the catalogue
	Changes  []string      // lines of the file in the folder that go (-) and come (+), sorted
}

// Options say how to compare.
type Options struct {
	Catalogue string                            // the path of the catalogue, from the folder of the file
	Read      func(file string) ([]byte, error) // the files of the catalogue
	// Present is the file as it lies in the folder. What was accepted there, and is not in the record
	// yet, is accepted.
	Present []byte
	Accept  bool // all findings
}

// Compare compares a catalogue with a record, or with nothing if that is nil.
func Compare(c *catalog.Catalogue, before *Record, o Options) (Result, error) {
	source := diag.NewSource(o.Read)
	facts := c.Facts()
	lines := linesOf(facts)
	if before == nil {
		return result(file(o.Catalogue, c.File, lines), nil, o.Present), nil
	}
	r := comparison{after: c, before: before, options: o, facts: facts, lines: lines, removed: map[string]bool{}}
	r.findings = append(slices.Clone(before.findings), checkSamples(c, before.samples, source.Place)...)
	if err := r.compare(); err != nil {
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
	options  Options
	facts    []catalog.Fact
	lines    []string // the same, of the catalogue now
	removed  map[string]bool
	findings diag.Findings
}

// compare has package breaking compare the catalogue with each variant of the record, and of earlier ones.
func (r *comparison) compare() error {
	all := variants(r.before.facts)
	for _, one := range r.before.earlier {
		all = append(all, variants(one.facts)...)
	}
	if len(all) == 1 && r.same() {
		return nil
	}
	seen := map[string]bool{}
	for _, facts := range all {
		if len(facts) == 0 {
			continue // the record is of an older form
		}
		before := r.read(facts)
		found, err := breaking.Compare(breaking.State{Catalogue: before, Read: r.before.readText}, breaking.State{Catalogue: r.after, Read: r.options.Read})
		if err != nil {
			return err
		}
		for _, f := range found {
			if id := fmt.Sprint(f.Pos, f.Rule, f.Message, f.Hint, f.Direction); !seen[id] {
				seen[id] = true
				r.findings = append(r.findings, f)
			}
		}
		for _, f := range catalog.RemovedFacts(before, r.after) {
			r.removed[f.String()] = true
		}
	}
	r.findings.Sort(r.after.Files)
	return nil
}

// same tells whether the record says what the catalogue says, which is quick to find out.
func (r *comparison) same() bool {
	now := map[string]bool{}
	for _, line := range r.lines {
		now[line] = true
	}
	was := 0
	removed := map[string]bool{}
	for _, f := range r.before.facts {
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

// read makes a catalogue of facts. A type on which no line says anything, because a merge has lost
// it, is taken to be what it is now.
func (r *comparison) read(facts []catalog.Fact) *catalog.Catalogue {
	added := map[string]bool{}
	for {
		c, wrong := catalog.ReadFacts(facts)
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

func (r *comparison) lineFinding(wrong catalog.FactError) {
	f := lineFinding(wrong.NameAt, wrong.String(), wrong.Message)
	f.Hint = "use the busgen that has written it, or generate with --accept-wire to begin a new record"
	r.findings = append(r.findings, f)
}

// accept marks the findings that somebody has accepted in the file, and returns the keys that the
// next file has.
func (r *comparison) accept() []string {
	keys := slices.Concat(r.before.accepted, r.before.merged)
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

// Refused tells whether code must not be generated because of a finding: stored events would be
// lost, or changed.
func Refused(f *diag.Finding) bool {
	return f.Severity >= diag.Warning && f.Direction != diag.Forward
}
