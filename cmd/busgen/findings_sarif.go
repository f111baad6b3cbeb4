package main

import (
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/busgen/busgen/internal/breaking"
	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/importer"
	"github.com/busgen/busgen/internal/lint"
)

// What of SARIF 2.1.0 is used, under the names of the standard.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool       sarifTool     `json:"tool"`
		ColumnKind string        `json:"columnKind"`
		Results    []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID               string        `json:"id"`
		ShortDescription *sarifMessage `json:"shortDescription,omitempty"`
		HelpURI          string        `json:"helpUri"`
	}
	sarifResult struct {
		RuleID           string            `json:"ruleId"`
		RuleIndex        int               `json:"ruleIndex"`
		Level            string            `json:"level"`
		Message          sarifMessage      `json:"message"`
		Locations        []sarifLocation   `json:"locations"`
		RelatedLocations []sarifLocation   `json:"relatedLocations,omitempty"`
		Fingerprints     map[string]string `json:"partialFingerprints,omitempty"`
	}
	sarifMessage struct {
		Text string `json:"text"`
	}
	sarifLocation struct {
		Message  *sarifMessage `json:"message,omitempty"`
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   sarifRegion   `json:"region"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn"`
		EndColumn   int `json:"endColumn"`
	}
)

const (
	homepage    = "https://github.com/busgen/busgen"
	findingsDoc = homepage + "/blob/main/docs/catalogue.md#findings"
	breakingDoc = homepage + "/blob/main/docs/tools.md#what-a-change-breaks"
	lintDoc     = homepage + "/blob/main/docs/catalogue.md#lint"
	importDoc   = homepage + "/blob/main/docs/tools.md#importing"
)

// findingsSARIF writes the log of one run. The words of its severities are those
// of SARIF.
func findingsSARIF(all []lint.Finding) (string, error) {
	run := sarifRun{
		Tool:       sarifTool{sarifDriver{Name: "busgen", InformationURI: homepage, Rules: []sarifRule{}}},
		ColumnKind: "unicodeCodePoints",
		Results:    []sarifResult{},
	}
	rules := &run.Tool.Driver.Rules
	for _, f := range all {
		id := string(f.Rule)
		index := slices.IndexFunc(*rules, func(r sarifRule) bool { return r.ID == id })
		if index < 0 {
			index = len(*rules)
			*rules = append(*rules, sarifRuleOf(id))
		}
		result := sarifResult{
			RuleID: id, RuleIndex: index, Level: f.Severity.String(),
			Message: sarifMessage{f.Message}, Locations: []sarifLocation{locationOf(f.Place)},
		}
		if f.Key != "" {
			result.Fingerprints = map[string]string{"busgenKey/v1": f.Key}
		}
		if f.Hint != "" {
			result.Message.Text += "; " + f.Hint
		}
		for _, rel := range f.Related {
			at := locationOf(rel.Place)
			at.Message = &sarifMessage{rel.Message}
			result.RelatedLocations = append(result.RelatedLocations, at)
		}
		run.Results = append(run.Results, result)
	}
	return cli.Document(sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}})
}

func sarifRuleOf(id string) sarifRule {
	rule := sarifRule{ID: id, HelpURI: findingsDoc}
	if own, ok := lint.RuleOf(id); ok {
		rule.ShortDescription, rule.HelpURI = &sarifMessage{own.Purpose}, lintDoc
	}
	if own, ok := breaking.RuleOf(id); ok {
		rule.ShortDescription, rule.HelpURI = &sarifMessage{own.Purpose}, breakingDoc
	}
	if own, ok := importer.RuleOf(id); ok {
		rule.ShortDescription, rule.HelpURI = &sarifMessage{"asks for " + own.Asks}, importDoc
	}
	return rule
}

func locationOf(p catalog.Place) sarifLocation {
	at := objectOf(p)
	return sarifLocation{Physical: sarifPhysical{
		Artifact: sarifArtifact{fileURI(at.File)},
		Region:   sarifRegion{at.Line, at.Column, at.EndColumn},
	}}
}

// fileURI is a relative reference for a relative path, and else a file URL.
func fileURI(path string) string {
	u := url.URL{Path: filepath.ToSlash(path)}
	if filepath.IsAbs(path) {
		u.Scheme = "file"
		u.Path = "/" + strings.TrimPrefix(u.Path, "/")
	}
	return u.String()
}
