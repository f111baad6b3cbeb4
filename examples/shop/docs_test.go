package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// The guide to testing shows the tests of this folder as they are.
func TestTheGuideToTestingShowsTestsThatRun(t *testing.T) {
	guide, err := os.ReadFile("../../docs/testing.md")
	if err != nil {
		t.Fatal(err)
	}
	var tests strings.Builder
	for _, name := range []string{"handlers_test.go", "books_test.go", "ledger_test.go", "../../runtime/otel/example_test.go", "../../runtime/runtimetest/stall_test.go"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		tests.Write(text)
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(guide), -1)
	if len(blocks) < 4 {
		t.Errorf("found %d examples", len(blocks))
	}
	for _, block := range blocks {
		if !strings.Contains(tests.String(), block[1]) {
			t.Errorf("no test here has\n%s", block[1])
		}
	}
}
