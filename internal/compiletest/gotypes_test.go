package compiletest

import (
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/templates"
)

// Package internal/compiletest/gotypes, a module of its own, has the Go types that are right.
func TestAGoTypeWithoutTheMethodsDoesNotCompile(t *testing.T) {
	for goType, want := range map[string]string{
		"time.Duration":            "does not implement encoding.TextMarshaler (missing method MarshalText)",
		"math/big.Float":           "big.Float does not implement encoding.TextMarshaler (method MarshalText has pointer receiver)",
		"encoding.TextMarshaler":   "*encoding.TextMarshaler does not implement encoding.TextUnmarshaler (type *encoding.TextMarshaler is pointer to interface, not interface)",
		"github.com/google/uuid.X": "undefined: uuid.X",
	} {
		text := "version: 1\npackage: events\ngo_types: { duration: " + goType + " }\nevents: { lamp.lit: { payload: { wait: duration, hold: \"duration?\" } } }\n"
		c, findings := parse.Text("events.yaml", []byte(text))
		if findings != nil {
			t.Fatal(findings)
		}
		emitted, err := templates.Files(c, templates.Target{ImportPath: eventsPath})
		if err != nil {
			t.Fatal(err)
		}
		files := map[string]string{}
		for _, file := range emitted {
			files[file.Name] = string(file.Content)
		}
		_, found := compile(t, eventsPath, files, nil)
		var messages []string
		for _, c := range found {
			messages = append(messages, c.file+": "+c.message)
		}
		all := strings.Join(messages, "\n")
		if !strings.Contains(all, want) || !strings.Contains(all, "payloads.gen.go: ") {
			t.Errorf("%s: the compiler says\n%s\nwant\n%s", goType, all, want)
		}
	}
}
