package diag

import (
	"fmt"
	"slices"
	"strings"
)

// Source has the lines of files, to show them in findings.
type Source struct {
	read  func(file string) ([]byte, error)
	files map[string][]string
	err   error
	line  string // of the last place
	runes []rune // the same
}

// NewSource returns the source of the files that read returns.
func NewSource(read func(file string) ([]byte, error)) *Source {
	return &Source{read: read, files: map[string][]string{}}
}

// Err returns the error of the first file that could not be read.
func (s *Source) Err() error { return s.err }

func (s *Source) lines(file string) []string {
	lines, known := s.files[file]
	if !known {
		content, err := s.read(file)
		if err != nil && s.err == nil {
			s.err = fmt.Errorf("cannot show lines of the catalogue: %w", err)
		}
		lines = strings.Split(Normalize(content), "\n")
		s.files[file] = lines
	}
	return lines
}

// Place returns the place of the word, or of the quoted text, at a position.
func (s *Source) Place(at Position) Place {
	p := Place{Pos: at, Length: 1}
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

// Normalize returns the content of a file without a byte order mark, and with \n for each line end that
// YAML knows, which are more than most editors know.
func Normalize(content []byte) string {
	return lineEnds.Replace(strings.TrimPrefix(string(content), "\uFEFF"))
}

var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

// LineOf returns the place of a whole line of a file.
func LineOf(file string, number int, line string) Place {
	return Place{Pos: Position{File: file, Line: number, Column: 1}, Length: max(1, len([]rune(line))), Line: line}
}
