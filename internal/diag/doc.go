// Package diag describes what is wrong, where, and what to do about it.
//
// A [Finding] is one problem in one [Place] of a file. It belongs to a [Rule], has a [Severity] and a
// message, and often a hint and related places. [Findings] is a list of them, and an error.
//
// To report something, take its rule from package rules, where every rule of every tool is declared,
// and ask it for a finding:
//
//	f := rules.UnknownKey.At(place, "unknown key %q in event %s", key, event)
//	f.Hint = diag.DidYouMean(key, keys)
//	f.See(other, "event %s is here", event)
//
// To get a place from a position, use [Source.Place], which knows the lines of files.
//
// To print findings, use [Findings.Render] for people: each finding with its line and a caret below.
// For programs, [Findings.In] returns a document in a [Format].
//
// The files:
//
//	position.go  Position, Place
//	source.go    Source and Lines: from a position to a place
//	finding.go   Finding, Findings
//	severity.go  Severity, Direction
//	rule.go      Rule, Tool
//	render.go    the text for people
//	format.go    Format; json.go, github.go, sarif.go: the documents for programs
//	visible.go   escapes what cannot be printed
//	suggest.go   "did you mean"
package diag
