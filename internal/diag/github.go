package diag

import (
	"fmt"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/busgen/busgen/internal/words"
)

// githubLevels has the commands of GitHub Actions that make annotations.
var githubLevels = map[Severity]string{Note: "notice", Warning: "warning", Error: "error"}

// githubText and githubProperty escape what the text and the properties of a command must not contain.
// GitHub decodes these escapes and no others.
var (
	githubText     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	githubProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// annotations writes a command of GitHub Actions for each finding:
//
//	::error file=events.yaml,line=5,col=5,endColumn=9,title=unknown-key::unknown key "rety" in …
func annotations(fs Findings) string {
	var b strings.Builder
	for _, f := range fs {
		at, text := f.Place.object(), f.text()
		for _, related := range f.Related {
			text += fmt.Sprintf("\n%s: %s", related.Pos, related.Message)
		}
		fmt.Fprintf(&b, "::%s file=%s,line=%d,col=%d,endColumn=%d,title=%s::%s\n", githubLevels[f.Severity],
			githubProperty.Replace(visibleLines(filepath.ToSlash(at.File))), at.Line, at.Column, at.EndColumn,
			githubProperty.Replace(visibleLines(f.name())), githubText.Replace(visibleLines(text)))
	}
	return b.String()
}

// visibleLines is [Visible] for a text of several lines.
func visibleLines(text string) string {
	return words.Escape(text, func(c rune) bool { return c == '\n' || c == '\r' || unicode.IsPrint(c) })
}
