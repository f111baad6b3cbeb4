package page_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/busgen/busgen/runtime/event"
	. "github.com/busgen/busgen/runtime/internal/conformance/inspection"
)

func TestAnIncidentIsOneFileThatLoadsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Mixed(t)
		p := open(t, f)
		groups, err := f.File.FailureGroups(t.Context(), event.Filter{})
		Must(t, err)
		for _, query := range []string{"id=" + newest(t, f, event.Filter{Status: event.StatusDLQ}).ID.String(), "group=" + groups[0].Fingerprint} {
			status, header, got := get(p, "/incident.html?"+query)
			if status != http.StatusOK || !strings.HasPrefix(header.Get("Content-Disposition"), "attachment;") {
				t.Errorf("%s: status %d, %v", query, status, header)
			}
			for _, want := range []string{"order 3: the printer is on fire", "&#34;number&#34;: 3", "default-src &#39;none&#39;", "<style>:root", "printer"} {
				if !strings.Contains(got, want) && !strings.Contains(got, strings.ReplaceAll(want, "&#39;", "'")) {
					t.Errorf("%s lacks %q:\n%s", query, want, got)
				}
			}
			if bad := regexp.MustCompile(`<script|<link|<img|src=|href=|url\(|@import|\son[a-z]+=`).FindString(got); bad != "" {
				t.Errorf("%s has %q", query, bad)
			}
		}
		for query, want := range map[string]int{"": http.StatusBadRequest, "group=zz": http.StatusNotFound} {
			if status, _, _ := get(p, "/incident.html?"+query); status != want {
				t.Errorf("%q: status %d, want %d", query, status, want)
			}
		}
	})
}
