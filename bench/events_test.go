package main

import (
	"testing"

	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/output"
	"github.com/busgen/busgen/templates"
)

func TestTheGeneratedCodeIsWhatTheCatalogueSays(t *testing.T) {
	c, findings, err := parse.Load("events.yaml")
	if err != nil || len(findings) > 0 {
		t.Fatal(err, findings)
	}
	files, err := templates.Files(c, templates.Target{})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := output.Compare("events", files)
	if err != nil {
		t.Fatal(err)
	}
	if !plan.UpToDate() {
		t.Errorf("bench/events is stale: run go generate ./bench")
	}
}
