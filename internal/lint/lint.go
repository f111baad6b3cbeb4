package lint

import (
	"slices"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/glob"
)

// Run applies the rules to a catalogue and returns their findings in the order of its files. read returns
// the content of those files, so that findings can show lines. Its error is that of read.
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

// A pass applies one rule to one catalogue.
type pass struct {
	*catalog.Catalogue
	rule     *diag.Rule
	severity diag.Severity
	except   []glob.Pattern
	source   *diag.Source
	findings diag.Findings

	byNamespace map[string]*neighbours // empty until a rule needs it
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

// excepted reports whether the catalogue excepts a name from the rule.
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
