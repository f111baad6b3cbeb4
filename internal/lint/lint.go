package lint

import (
	"slices"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/glob"
)

// Run applies the rules to a catalogue and returns what they find, in the order
// of its files. read returns the content of the files that it was read from, so
// that findings can show the lines.
func Run(c *catalog.Catalogue, read func(file string) ([]byte, error)) (diag.Findings, error) {
	src := diag.NewSource(read)
	var all diag.Findings
	for _, rule := range Rules() {
		p := &pass{Catalogue: c, rule: rule.Rule, severity: rule.Severity, source: src}
		p.configure()
		if p.severity == diag.Off {
			continue
		}
		rule.check(p)
		all = append(all, p.findings...)
	}
	all.Sort(c.Files)
	return all, src.Err()
}

// A pass is one rule at work on one catalogue.
type pass struct {
	*catalog.Catalogue
	rule     *diag.Rule
	severity diag.Severity
	except   []glob.Pattern
	source   *diag.Source
	findings diag.Findings

	byNamespace map[string]*neighbours // empty until a rule asks
}

// configure applies what the catalogue says about the rule.
func (p *pass) configure() {
	for _, setting := range p.Lint {
		if setting.Rule.V != p.rule.ID {
			continue
		}
		p.except = setting.Except
		if setting.Severity.Written() {
			p.severity = setting.Severity.V
		}
	}
}

// excepted tells whether the catalogue wants the rule to leave a name alone.
func (p *pass) excepted(name string) bool {
	return slices.ContainsFunc(p.except, func(pattern glob.Pattern) bool { return pattern.Match(name) })
}

// report adds a finding about the event or the type of that name, unless it is excepted. It leaves out
// what is not written in a file, because there is no place to point at.
func (p *pass) report(subject string, at diag.Position, hint, format string, args ...any) *diag.Finding {
	f := p.rule.At(p.source.Place(at), format, args...)
	f.Severity, f.Hint, f.Subject = p.severity, hint, subject
	if at.IsKnown() && !p.excepted(subject) {
		p.findings = append(p.findings, f)
	}
	return f
}

// see adds a related place to a finding, if it is written in a file.
func (p *pass) see(f *diag.Finding, at diag.Position, format string, args ...any) {
	if at.IsKnown() && at != f.Pos {
		f.See(p.source.Place(at), format, args...)
	}
}
