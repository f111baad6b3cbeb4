package command

import (
	"runtime/debug"
	"strings"
	"testing"
)

func TestTheVersionHasTheRevisionThatWasBuilt(t *testing.T) {
	built := func(settings ...debug.BuildSetting) string {
		info := &debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Version: "v0.1.0"}, Settings: settings}
		text := versionsOf(info).text()
		return text[:strings.Index(text, "\ngeneration")]
	}
	revision := []debug.BuildSetting{{Key: "vcs.revision", Value: "be7d976a"}, {Key: "vcs.time", Value: "2026-11-27T13:00:00Z"}}
	for want, got := range map[string]string{
		"busgen v0.1.0\ngo1.26.8": built(),
		"busgen v0.1.0\nrevision be7d976a of 2026-11-27T13:00:00Z\ngo1.26.8":                     built(revision...),
		"busgen v0.1.0\nrevision be7d976a of 2026-11-27T13:00:00Z, with changed files\ngo1.26.8": built(append(revision, debug.BuildSetting{Key: "vcs.modified", Value: "true"})...),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
