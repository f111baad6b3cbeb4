package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/busgen/busgen/internal/lint"
)

// githubLevels are the commands of GitHub Actions that make annotations.
var githubLevels = map[lint.Severity]string{lint.Note: "notice", lint.Warning: "warning", lint.Error: "error"}

// What a command of GitHub Actions must not contain as it is: in its text, and
// in its properties.
var (
	githubText     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	githubProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// findingsGitHub writes an annotation for each finding:
//
//	::error file=events.yaml,line=5,col=5,endColumn=9,title=unknown-key::unknown key "rety" in …
func findingsGitHub(all []lint.Finding) string {
	var b strings.Builder
	for _, f := range all {
		at := objectOf(f.Place)
		title := cmp.Or(f.Key, string(f.Rule)) // a key begins with its rule
		text := f.Message
		if f.Hint != "" {
			text += "; " + f.Hint
		}
		for _, rel := range f.Related {
			text += fmt.Sprintf("\n%s: %s", rel.Pos, rel.Message)
		}
		fmt.Fprintf(&b, "::%s file=%s,line=%d,col=%d,endColumn=%d,title=%s::%s\n", githubLevels[f.Severity],
			githubProperty.Replace(filepath.ToSlash(at.File)), at.Line, at.Column, at.EndColumn, githubProperty.Replace(title), githubText.Replace(text))
	}
	return b.String()
}
