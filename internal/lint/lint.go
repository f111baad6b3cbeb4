package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/glob"
)

// Run applies the rules to a catalogue and returns what they find, in the order
// of its files. read returns the content of the files that it was read from, so
// that findings can show the lines.
func Run(c *catalog.Catalogue, read func(file string) ([]byte, error)) ([]Finding, error) {
	src := NewSource(read)
	var all []Finding
	for _, rule := range Rules() {
		p := &pass{Catalogue: c, rule: rule.ID, severity: rule.Severity, source: src}
		if err := p.configure(); err != nil {
			return nil, err
		}
		if p.severity == Off {
			continue
		}
		rule.check(p)
		all = append(all, p.findings...)
	}
	slices.SortStableFunc(all, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(slices.Index(c.Files, a.Pos.File), slices.Index(c.Files, b.Pos.File)), cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Column, b.Pos.Column),
		)
	})
	return all, src.Err()
}

// A pass is one rule at work on one catalogue.
type pass struct {
	*catalog.Catalogue
	rule     string
	severity Severity
	except   []glob.Pattern
	source   *Source
	findings []Finding

	byNamespace map[string]*neighbours // empty until a rule asks
}

// configure takes what the catalogue says of the rule.
func (p *pass) configure() error {
	for _, setting := range p.Lint {
		if setting.Rule.V != p.rule {
			continue
		}
		p.except = setting.Except
		if setting.Severity.Written() {
			var err error
			if p.severity, err = ParseSeverity(setting.Severity.V); err != nil {
				return fmt.Errorf("%s: %w", setting.Severity.Pos, err)
			}
		}
	}
	return nil
}

// excepted tells whether the catalogue wants the rule to leave a name alone.
func (p *pass) excepted(name string) bool {
	return slices.ContainsFunc(p.except, func(pattern glob.Pattern) bool { return pattern.Match(name) })
}

// report adds a finding about the event or the type of that name, unless it is
// excepted. What is not written in a file has no place to point at, and is left
// out too.
func (p *pass) report(subject string, at catalog.Position, hint, format string, args ...any) *catalog.Finding {
	f := &catalog.Finding{
		Place: p.source.Place(at), Rule: catalog.Rule(p.rule), Message: fmt.Sprintf(format, args...), Hint: hint,
	}
	if at != (catalog.Position{}) && !p.excepted(subject) {
		p.findings = append(p.findings, Finding{Finding: f, Severity: p.severity, Subject: subject})
	}
	return f
}

// see adds a place that a finding is about too, if it is written.
func (p *pass) see(f *catalog.Finding, at catalog.Position, format string, args ...any) {
	if at != (catalog.Position{}) && at != f.Pos {
		f.Related = append(f.Related, catalog.Related{Place: p.source.Place(at), Message: fmt.Sprintf(format, args...)})
	}
}

// Source has the lines of a catalogue's files.
type Source struct {
	read  func(file string) ([]byte, error)
	files map[string][]string
	err   error
	line  string // the last one of which there was a place
	runes []rune // the same
}

// NewSource returns the source of files that read has the content of.
func NewSource(read func(file string) ([]byte, error)) *Source {
	return &Source{read: read, files: map[string][]string{}}
}

// Err is what was wrong with the first file that could not be read.
func (s *Source) Err() error { return s.err }

func (s *Source) lines(file string) []string {
	lines, known := s.files[file]
	if !known {
		content, err := s.read(file)
		if err != nil && s.err == nil {
			s.err = fmt.Errorf("cannot show lines of the catalogue: %w", err)
		}
		lines = strings.Split(strings.ReplaceAll(string(content), "\r\n", "\n"), "\n")
		s.files[file] = lines
	}
	return lines
}

// Place is the word, or the text in quotes, that is written at a position.
func (s *Source) Place(at catalog.Position) catalog.Place {
	p := catalog.Place{Pos: at, Length: 1}
	lines := s.lines(at.File)
	if at.Line < 1 || at.Line > len(lines) {
		return p
	}
	p.Line = lines[at.Line-1]
	if p.Line != s.line { // many places can be in one very long line
		s.line, s.runes = p.Line, []rune(p.Line)
	}
	if at.Column >= 1 && at.Column <= len(s.runes) {
		p.Length = wordLength(s.runes[at.Column-1:])
	}
	return p
}

// wordLength counts the characters of the scalar with which a text begins.
func wordLength(text []rune) int {
	if quote := text[0]; quote == '"' || quote == '\'' {
		if end := slices.Index(text[1:], quote); end >= 0 {
			return end + 2
		}
		return len(text)
	}
	for i, c := range text {
		switch c {
		case ' ', '\t', ',', '}', ']', '#':
			return max(i, 1)
		case ':':
			if i+1 == len(text) || text[i+1] == ' ' {
				return max(i, 1)
			}
		}
	}
	return len(text)
}
