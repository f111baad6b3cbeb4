package text_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

// timeout reads text as the timeout of an event.
func timeout(text string) (time.Duration, diag.Findings) {
	c, findings := parse.Text("events.yaml", fmt.Appendf(nil, "version: 1\npackage: events\nevents: { e: { timeout: %q } }\n", text))
	if len(findings) > 0 {
		return 0, findings
	}
	return c.Events[0].Settings.Timeout.V, nil
}

func TestDurationsAreReadInEverySpelling(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"7d":           7 * 24 * time.Hour,
		"0d5m":         5 * time.Minute,
		"1d12h30m":     36*time.Hour + 30*time.Minute,
		"1d36h":        60 * time.Hour,
		"30d":          30 * 24 * time.Hour,
		"1.5h":         90 * time.Minute,
		".5s":          500 * time.Millisecond,
		"2.s":          2 * time.Second,
		"+5s":          5 * time.Second,
		"2000us":       2 * time.Millisecond,
		"2000µs":       2 * time.Millisecond, // the micro sign
		"2000μs":       2 * time.Millisecond, // the Greek letter
		"1000000ns":    time.Millisecond,
		"00000000001s": time.Second,
	} {
		if got, findings := timeout(text); got != want || findings != nil {
			t.Errorf("%s is read as %v, %v", text, got, findings)
		}
	}
}

// An interval may be longer than the longest delay of a retry.
func TestALongIntervalInHoursIsReadAsItIs(t *testing.T) {
	for text, want := range map[string]time.Duration{"1000h": 1000 * time.Hour, "365d": 8760 * time.Hour, "8760h": 8760 * time.Hour, "300d60h": 7260 * time.Hour} {
		c, findings := parse.Text("events.yaml", fmt.Appendf(nil, "version: 1\npackage: events\nevents: { e: {} }\nschedules: { s: { event: e, every: %s } }\n", text))
		if findings != nil {
			t.Fatal(findings)
		}
		if got := c.Schedules[0].Every.V; got != want {
			t.Errorf("%s is read as %v", text, got)
		}
	}
}

func TestAnInvalidDurationAndATooLongOneHaveDifferentFindings(t *testing.T) {
	for rule, texts := range map[*diag.Rule][]string{
		rules.BadDuration: {"", "0", "s", "d", ".s", "1d1", "1d-1h", "1.5d", "1h1d", "1 d", "5 s", "five", "1m30", "-", "1D", "1w"},
		rules.OutOfRange: {
			"0s", "-1s", "-1d", "31d", "30d1ns", "721h", "300d", "65536d", "99999999999d", "99999999999999999999d",
			"100000000000h", "1d99999999999h", "-99999999999d", strings.Repeat("9", 400) + "s",
		},
	} {
		for _, text := range texts {
			if _, findings := timeout(text); len(findings) != 1 || findings[0].Rule != rule {
				t.Errorf("%.40q gives %v, want one finding of %s", text, findings, rule)
			}
		}
	}
}

func TestEveryDurationThatGoPrintsIsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(int64(time.Millisecond), int64(30*24*time.Hour)).Draw(t, "duration"))
		days := d / (24 * time.Hour)
		for _, text := range []string{d.String(), fmt.Sprintf("%dd%v", days, d-days*24*time.Hour)} {
			if got, findings := timeout(text); got != d || findings != nil {
				t.Errorf("%s is read as %v, %v", text, got, findings)
			}
		}
	})
}

func TestDurationsAreWrittenWithoutZeroParts(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                       "0s",
		250 * time.Millisecond:  "250ms",
		10 * time.Second:        "10s",
		time.Minute:             "1m",
		70 * time.Second:        "1m10s",
		time.Hour:               "1h",
		10 * time.Minute:        "10m",
		90 * time.Minute:        "1h30m",
		time.Hour + time.Second: "1h0m1s",
		20 * time.Hour:          "20h",
		24 * time.Hour:          "24h",
		48 * time.Hour:          "2d",
		49 * time.Hour:          "49h",
		30 * 24 * time.Hour:     "30d",
	} {
		if got := catalog.Short(d); got != want {
			t.Errorf("Short(%d) = %s, want %s", d, got, want)
		}
	}
}
