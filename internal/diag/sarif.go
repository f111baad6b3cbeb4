package diag

import (
	"net/url"
	"path/filepath"
	"slices"
	"strings"
)

// The part of SARIF 2.1.0 that is used, under the names of the standard.
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
		ID               string       `json:"id"`
		ShortDescription sarifMessage `json:"shortDescription"`
		HelpURI          string       `json:"helpUri"`
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

const homepage = "https://github.com/busgen/busgen"

// docs has the page about the rules of each tool.
var docs = map[Tool]string{
	Reader:   homepage + "/blob/main/docs/catalogue.md#findings",
	Lint:     homepage + "/blob/main/docs/catalogue.md#lint",
	Breaking: homepage + "/blob/main/docs/tools.md#what-a-change-breaks",
	Import:   homepage + "/blob/main/docs/tools.md#importing",
	Generate: homepage + "/blob/main/docs/catalogue.md#findings",
}

// logOf returns the log of one run. The words of its severities are those of SARIF.
func logOf(fs Findings) sarifLog {
	run := sarifRun{
		Tool:       sarifTool{sarifDriver{Name: "busgen", InformationURI: homepage, Rules: []sarifRule{}}},
		ColumnKind: "unicodeCodePoints",
		Results:    []sarifResult{},
	}
	var rules []*Rule
	for _, f := range fs {
		index := slices.Index(rules, f.Rule)
		if index < 0 {
			index = len(rules)
			rules = append(rules, f.Rule)
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{f.Rule.ID, sarifMessage{f.Rule.Doc}, docs[f.Rule.Tool]})
		}
		run.Results = append(run.Results, f.result(index))
	}
	return sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}}
}

func (f *Finding) result(ruleIndex int) sarifResult {
	result := sarifResult{
		RuleID: f.Rule.ID, RuleIndex: ruleIndex, Level: f.Severity.String(),
		Message: sarifMessage{f.text()}, Locations: []sarifLocation{f.location()},
	}
	if f.Key != "" {
		result.Fingerprints = map[string]string{"busgenKey/v1": f.Key}
	}
	for _, related := range f.Related {
		at := related.location()
		at.Message = &sarifMessage{related.Message}
		result.RelatedLocations = append(result.RelatedLocations, at)
	}
	return result
}

func (p Place) location() sarifLocation {
	at := p.object()
	return sarifLocation{Physical: sarifPhysical{
		Artifact: sarifArtifact{fileURI(at.File)},
		Region:   sarifRegion{at.Line, at.Column, at.EndColumn},
	}}
}

// fileURI returns a relative reference for a relative path, and a file URL for an absolute one.
func fileURI(path string) string {
	u := url.URL{Path: filepath.ToSlash(path)}
	if filepath.IsAbs(path) {
		u.Scheme = "file"
		u.Path = "/" + strings.TrimPrefix(u.Path, "/")
	}
	return u.String()
}
