package templates

import (
	"strconv"
	"strings"
	"time"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/runtime/retry"
)

// policyWords tells in English how deliveries of e are handled.
func policyWords(e *catalog.Event) string {
	sentences := []string{attemptWords(e.Settings)}
	switch e.Settings.Priority.V {
	case catalog.High:
		sentences = append(sentences, "It goes ahead of events of normal priority.")
	case catalog.Low:
		sentences = append(sentences, "It waits behind events of normal priority.")
	}
	if e.PartitionBy != nil {
		sentences = append(sentences, "Its partition key is "+e.PartitionBy.Name.V+".")
	}
	return strings.Join(sentences, " ")
}

// attemptWords tells how long an attempt may take, and what happens if it fails.
func attemptWords(s catalog.Settings) string {
	return "An attempt may take " + compact(s.Timeout.V) + ". " + retryWords(s.Policy())
}

func retryWords(p retry.Policy) string {
	if p.MaxAttempts == 1 {
		return "An event that fails is not tried again but kept as a dead letter."
	}
	return "An event that fails is tried up to " + strconv.Itoa(p.MaxAttempts) + " times in all, " +
		waitWords(p) + ", and then kept as a dead letter."
}

// waitWords lists the waits between attempts, or the first few of them. Waits
// never get shorter from one attempt to the next.
func waitWords(p retry.Policy) string {
	const most = 5
	shortest, longest := p.Delay(2), p.Delay(p.MaxAttempts)
	if longest == 0 {
		return "without a wait"
	}
	var waits []string
	for n := 2; n <= min(p.MaxAttempts, 1+most); n++ {
		waits = append(waits, compact(p.Delay(n)))
	}
	words := listing(waits, "and")
	switch {
	case shortest == longest:
		words = waits[0]
	case p.MaxAttempts > 1+most:
		words = strings.Join(waits, ", ") + " and so on up to " + compact(longest)
	}
	words += " apart"
	if p.Jitter > 0 {
		words += " (give or take " + strconv.FormatFloat(p.Jitter*100, 'g', 4, 64) + " %)"
	}
	return words
}

// compact formats a duration without zero parts: 5m, not 5m0s.
func compact(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// listing joins words as English does: a, b or c.
func listing(words []string, conjunction string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " " + conjunction + " " + words[last]
}
