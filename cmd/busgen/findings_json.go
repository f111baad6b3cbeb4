package main

import (
	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/lint"
)

// The form of --format json. It is documented in formatHelp.
type (
	findingsObject struct {
		Findings []findingObject `json:"findings"`
	}
	findingObject struct {
		placeObject
		Severity  string          `json:"severity"`
		Direction string          `json:"direction,omitempty"` // of busgen breaking
		Rule      string          `json:"rule"`
		Key       string          `json:"key,omitempty"` // of busgen breaking
		Message   string          `json:"message"`
		Hint      string          `json:"hint,omitempty"`
		Related   []relatedObject `json:"related,omitempty"`
	}
	relatedObject struct {
		placeObject
		Message string `json:"message"`
	}
	placeObject struct {
		File      string `json:"file"`
		Line      int    `json:"line"`
		Column    int    `json:"column"`
		EndColumn int    `json:"end_column"` // of the first character behind
	}
)

func findingsJSON(all []lint.Finding) (string, error) {
	objects := findingsObject{Findings: []findingObject{}}
	for _, f := range all {
		o := findingObject{
			placeObject: objectOf(f.Place), Severity: f.Severity.String(), Direction: f.Direction,
			Rule: string(f.Rule), Key: f.Key, Message: f.Message, Hint: f.Hint,
		}
		for _, rel := range f.Related {
			o.Related = append(o.Related, relatedObject{objectOf(rel.Place), rel.Message})
		}
		objects.Findings = append(objects.Findings, o)
	}
	return cli.Document(objects)
}

func objectOf(p catalog.Place) placeObject {
	return placeObject{p.Pos.File, p.Pos.Line, p.Pos.Column, p.Pos.Column + max(p.Length, 1)}
}
