package diag

import (
	"fmt"
	"path/filepath"
	"strings"
)

// githubLevels has the commands of GitHub Actions that make annotations.
var githubLevels = map[Severity]string{Note: "notice", Warning: "warning", Error: "error"}

// githubText and githubProperty escape what the text and the properties of a command must not contain.
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
		file := githubProperty.Replace(filepath.ToSlash(at.File))
		fmt.Fprintf(&b, "::%s file=%s,line=%d,col=%d,endColumn=%d,title=%s::%s\n", githubLevels[f.Severity],
			file, at.Line, at.Column, at.EndColumn, githubProperty.Replace(f.name()), githubText.Replace(text))
	}
	return b.String()
}
