package templates

import (
	"strconv"
	"strings"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/runtime/retry"
)

// policyWords tells in English how deliveries of e are handled.
func policyWords(e *catalog.Event) string {
	sentences := []string{settingWords(e.Settings)}
	switch e.Settings.Priority.V {
	case catalog.Critical:
		sentences = append(sentences, "It goes ahead of events of every other priority, and a dead letter of it is an alert.")
	case catalog.High:
		sentences = append(sentences, "It goes ahead of events of normal priority.")
	case catalog.Low:
		sentences = append(sentences, "It waits behind events of normal priority.")
	}
	if e.PartitionBy != nil {
		sentences = append(sentences, "Its partition key is "+e.PartitionBy.Label()+".")
	}
	return strings.Join(sentences, " ")
}

// settingWords tells how long an attempt may take, and what happens if it fails.
func settingWords(s catalog.Settings) string {
	limit := "as long as it likes"
	if s.Timeout.V > 0 {
		limit = catalog.Short(s.Timeout.V)
	}
	sentences := []string{"An attempt may take " + limit + ".", retryWords(s.Policy())}
	if s.ExpiresAfter.V > 0 {
		sentences = append(sentences, "One that is not handled within "+catalog.Short(s.ExpiresAfter.V)+" is a dead letter too.")
	}
	if len(s.Limits.V) > 0 {
		sentences = append(sentences, limitWords(s.Limits.V))
	}
	sentences = append(sentences, errorWords(s)...)
	if !s.Redrive.Off.V {
		sentences = append(sentences, redriveWords(s.Redrive))
	}
	return strings.Join(sentences, " ")
}

// errorWords has a sentence for all classes of errors that are permanent, and
// one for each that has another retry policy than s.
func errorWords(s catalog.Settings) []string {
	var permanent, sentences []string
	for _, rule := range s.Errors {
		own := attemptWords(s.PolicyFor(rule))
		switch {
		case rule.Permanent.V:
			permanent = append(permanent, rule.Class.V)
		case own != attemptWords(s.Policy()):
			sentences = append(sentences, "If the error is "+rule.Class.V+": "+own+".")
		}
	}
	if permanent != nil {
		sentences = append([]string{"It is not tried again if the error is " + listing(permanent, "or") + "."}, sentences...)
	}
	return sentences
}

func limitWords(uses []*catalog.LimitUse) string {
	var words []string
	for _, use := range uses {
		words = append(words, use.String())
	}
	if len(words) == 1 {
		return "An attempt waits for its turn in limit " + words[0] + "."
	}
	return "An attempt waits for its turn in limits " + listing(words, "and") + "."
}

func redriveWords(d catalog.Redrive) string {
	which := "Dead letters"
	if len(d.Reasons.V) > 0 {
		which += " whose reason is " + listing(d.Reasons.V, "or")
	}
	times := "once"
	if d.Max.V > 1 {
		times = "up to " + strconv.Itoa(d.Max.V) + " times"
	}
	return which + " are redriven after " + catalog.Short(d.Every.V) + ", " + times + "."
}

func retryWords(p retry.Policy) string {
	if p.MaxAttempts == 1 {
		return "An event that fails is not tried again but kept as a dead letter."
	}
	return "An event that fails is " + attemptWords(p) + ", and then kept as a dead letter."
}

func attemptWords(p retry.Policy) string {
	if p.MaxAttempts == 1 {
		return "tried once"
	}
	return "tried up to " + strconv.Itoa(p.MaxAttempts) + " times in all, " + waitWords(p)
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
		waits = append(waits, catalog.Short(p.Delay(n)))
	}
	words := listing(waits, "and")
	switch {
	case shortest == longest:
		words = waits[0]
	case p.MaxAttempts > 1+most:
		words = strings.Join(waits, ", ") + " and so on up to " + catalog.Short(longest)
	}
	words += " apart"
	if p.Jitter > 0 {
		words += " (give or take " + strconv.FormatFloat(p.Jitter*100, 'g', 4, 64) + " %)"
	}
	return words
}

// listing joins words as English does: a, b or c.
func listing(words []string, conjunction string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " " + conjunction + " " + words[last]
}
