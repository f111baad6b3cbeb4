package terminal_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/busgen/busgen/internal/cli/terminal"
)

func TestCleanedTextsHaveNoControlCharacters(t *testing.T) {
	for text, want := range map[string]string{
		"plain text, ä, 東, 👩\u200d🚀": "plain text, ä, 東, 👩\u200d🚀",
		"two\nlines\tand\ra tab":     "two lines and a tab",
		"\x1b[2J\x07\x7f":            `\x1b[2J\a\x7f`,
		"\U000E0001\u00010":          `\U000e0001\x010`,
		"\u202Egnp.exe":              `\u202egnp.exe`,
		"\u009b31m\u2028":            `\u009b31m\u2028`,
		"not \xff UTF-8":             "not \uFFFD UTF-8",
	} {
		if got := terminal.Clean(text); got != want {
			t.Errorf("Clean(%q) = %q, want %q", text, got, want)
		}
	}
	if got, want := terminal.CleanLines("main.go:7\r\n\tpanic\x1b"), "main.go:7\n    panic\\x1b"; got != want {
		t.Errorf("CleanLines: got %q, want %q", got, want)
	}
}

func TestACutTextFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := terminal.Clean(rapid.String().Draw(t, "text"))
		width := rapid.IntRange(1, 30).Draw(t, "width")
		got := terminal.Cut(text, width)
		if terminal.Width(got) > width || terminal.Width(text) <= width && got != text {
			t.Fatalf("Cut(%q, %d) = %q", text, width, got)
		}
	})
}

func TestTimesAreWrittenForPeople(t *testing.T) {
	now := time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)
	for d, want := range map[time.Duration]string{
		0:                                  "now",
		499 * time.Millisecond:             "now",
		27_995 * time.Millisecond:          "28 s ago",
		time.Hour - time.Millisecond:       "1 h ago",
		59 * time.Second:                   "59 s ago",
		time.Minute:                        "1 min ago",
		89 * time.Second:                   "1 min ago",
		119 * time.Second:                  "2 min ago",
		59*time.Minute + 29*time.Second:    "59 min ago",
		59*time.Minute + 59*time.Second:    "1 h ago",
		2*time.Hour + 59*time.Minute:       "2 h 59 min ago",
		10*time.Hour - time.Second:         "10 h ago",
		10*time.Hour + 40*time.Minute:      "11 h ago",
		47*time.Hour + 40*time.Minute:      "2 days ago",
		2*24*time.Hour + 20*time.Hour:      "2 days 20 h ago",
		10*24*time.Hour + 20*time.Hour:     "11 days ago",
		time.Hour:                          "1 h ago",
		47 * time.Hour:                     "47 h ago",
		48 * time.Hour:                     "2 days ago",
		59 * 24 * time.Hour:                "59 days ago",
		60 * 24 * time.Hour:                "2023-12-31",
		-30 * time.Second:                  "in 30 s",
		-59600 * time.Millisecond:          "in 1 min",
		-90 * time.Second:                  "in 1 min 30 s",
		-90 * time.Minute:                  "in 1 h 30 min",
		-(3*time.Hour - 50*time.Second):    "in 2 h 59 min",
		-(3*time.Hour - 20*time.Second):    "in 3 h",
		-60 * 24 * time.Hour:               "2024-04-29",
		200 * 365 * 24 * time.Hour:         "1824-04-18",
		-(59*24*time.Hour + 5*time.Second): "in 59 days",
	} {
		if got := terminal.Ago(now.Add(-d), now); got != want {
			t.Errorf("%v ago: %q, want %q", d, got, want)
		}
	}
	if got := terminal.Time(now.Add(-3*time.Minute), now); got != "2024-02-29 11:57:00 UTC (3 min ago)" {
		t.Errorf("a time is %q", got)
	}
	if got := terminal.Time(now.AddDate(-1, 0, 0), now); got != "2023-03-01 12:00:00 UTC" {
		t.Errorf("an old time is %q", got)
	}
	if terminal.Ago(time.Time{}, now) != "" || terminal.Time(time.Time{}, now) != "" || terminal.Span(50*time.Millisecond) != "50 ms" {
		t.Error("the zero time is not nothing, or 50 ms are not 50 ms")
	}
}

func TestSizesAndNumbersCanBeReadAtAGlance(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1536: "1.5 KiB", 1<<20 - 1: "1.0 MiB", 5 << 30: "5.0 GiB", 1 << 62: "4.0 EiB"} {
		if got := terminal.Bytes(n); got != want {
			t.Errorf("Bytes(%d) = %q, want %q", n, got, want)
		}
	}
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1000: "-1,000", -999: "-999"} {
		if got := terminal.Number(n); got != want {
			t.Errorf("Number(%d) = %q, want %q", n, got, want)
		}
	}
	if terminal.Counted(1, "letter") != "1 letter" || terminal.Counted(2000, "letter") != "2,000 letters" {
		t.Error("letters are miscounted")
	}
}

func TestJSONIsCleanedAndMeansTheSame(t *testing.T) {
	for text, want := range map[string]string{
		"{\n  \"a\": \"é 👩\u200d💻\"\n}\n": "{\n  \"a\": \"é 👩\u200d💻\"\n}\n",
		"\"\u009b31m\u202e\x7f\"":         `"\u009b31m\u202e\u007f"`,
		"\"\U000e0041\"":                  `"\udb40\udc41"`,
		"\"\x9b31m\"":                     `"\ufffd31m"`,
	} {
		if got := terminal.CleanJSON(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func TestRatesHaveTheDigitsThatCount(t *testing.T) {
	for perSecond, want := range map[float64]string{
		0: "0", 0.001: "<0.01", 0.25: "0.25", 0.994: "0.99", 0.996: "1", 1: "1", 3.44: "3.4", 9.94: "9.9", 9.96: "10", 12.4: "12", 1204: "1,204",
	} {
		if got := terminal.Rate(perSecond); got != want {
			t.Errorf("%v is %q, want %q", perSecond, got, want)
		}
	}
}

func TestWithoutATerminalTextsFollowOneAnother(t *testing.T) {
	var b strings.Builder
	r := terminal.NewRedraw(&b)
	for _, text := range []string{"one\n", "two\n"} {
		if err := r.Show(text); err != nil || !strings.HasSuffix(b.String(), text) {
			t.Errorf("%q, %v", &b, err)
		}
	}
	if b.String() != "one\n\ntwo\n" {
		t.Errorf("%q", &b)
	}
}
