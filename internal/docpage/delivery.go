package docpage

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/runtime/retry"
)

// A delivery says what becomes of events that fail.
type delivery struct {
	Summary   string
	Timelines []timeline // that of any error, then those of error classes
	Facts     []fact
}

type fact struct{ Name, Text string }

func (d delivery) equal(other delivery) bool { return reflect.DeepEqual(d, other) }

func deliveryOf(s catalog.Settings) delivery {
	d := delivery{Summary: summary(s)}
	any := timelineOf(s.Policy(), s.Redrive)
	d.Timelines = []timeline{any}
	for _, rule := range s.Errors {
		line := timelineOf(s.PolicyFor(rule), s.Redrive)
		line.Label = rule.Class.V
		if !reflect.DeepEqual(line.Segments, any.Segments) {
			d.Timelines = append(d.Timelines, line)
		}
	}
	if len(d.Timelines) > 1 {
		d.Timelines[0].Label = "any error"
	}
	d.Facts = facts(s)
	return d
}

// summary is 3 attempts over 3s.
func summary(s catalog.Settings) string {
	steps := s.Policy().Schedule()
	if len(steps) == 1 {
		return "one attempt"
	}
	text := strconv.Itoa(len(steps)) + " attempts"
	if waits := steps[len(steps)-1].Total; waits > 0 {
		text += " over " + catalog.Brief(waits)
	}
	return text
}

func facts(s catalog.Settings) []fact {
	all := []fact{{"Timeout", "none"}}
	if s.Timeout.V > 0 {
		all[0].Text = catalog.Short(s.Timeout.V) + " per attempt"
	}
	add := func(name, text string) { all = append(all, fact{name, text}) }
	add("Backoff", backoff(s.Retry))
	if s.ExpiresAfter.V > 0 {
		add("Expires", catalog.Short(s.ExpiresAfter.V)+" after it was published")
	}
	switch {
	case !s.MaxSnoozes.Written(): // what is built in
	case s.MaxSnoozes.V > 0:
		add("Snoozes", fmt.Sprintf("at most %d of one event", s.MaxSnoozes.V))
	default:
		add("Snoozes", "without a limit")
	}
	if s.SlowAfter.V > 0 {
		add("Slow", "logged when an attempt takes longer than "+catalog.Short(s.SlowAfter.V))
	}
	if s.HoldUnknown.Written() && s.HoldUnknown.V > 0 {
		add("Newer version", "held for a program that knows it, for up to "+catalog.Short(s.HoldUnknown.V))
	} else if s.HoldUnknown.Written() {
		add("Newer version", "a dead letter at once")
	}
	if s.SlowEventAfter.Written() && s.SlowEventAfter.V > 0 {
		add("Slow event", "logged when its attempts still fail after "+catalog.Short(s.SlowEventAfter.V))
	}
	if s.Breaker.Off.V {
		add("Breaker", "none")
	} else {
		text := fmt.Sprintf("opens for %s when more than %s of at least %d events within %s have failed",
			catalog.Short(s.Breaker.OpenFor.V), percent(s.Breaker.Threshold.V), s.Breaker.MinSamples.V, catalog.Short(s.Breaker.Window.V))
		if s.Breaker.By.Written() {
			text += ", for each " + s.Breaker.By.V
		}
		add("Breaker", text)
	}
	if s.Concurrency.V > 1 {
		add("Concurrency", fmt.Sprintf("up to %d handlers of a subscription at once", s.Concurrency.V))
	}
	if s.StrictOrder.V {
		add("Strict order", "an event that fails holds back the later ones of its key until it is settled")
	}
	if s.Batch.Written() {
		add("Batches", batches(s.Batch))
	}
	for _, use := range s.Limits.V {
		add("Limit "+use.String(), use.Reason())
	}
	if !s.Redrive.Off.V {
		reasons := "every dead letter"
		if len(s.Redrive.Reasons.V) > 0 {
			reasons = "dead letters by " + strings.Join(s.Redrive.Reasons.V, ", ")
		}
		add("Redrive", fmt.Sprintf("%s: again every %s, at most %d times", reasons, catalog.Short(s.Redrive.Every.V), s.Redrive.Max.V))
	}
	for _, rule := range s.Errors {
		if rule.Permanent.V {
			add("Error "+rule.Class.V, "permanent: a dead letter at once")
		} else {
			p := s.PolicyFor(rule)
			add("Error "+rule.Class.V, fmt.Sprintf("%d attempts, %s, at most %s", p.MaxAttempts, p.Backoff, catalog.Short(p.MaxDelay)))
		}
	}
	return all
}

func backoff(r catalog.Retry) string {
	switch r.Backoff.V {
	case retry.None:
		return "none: again at once"
	case retry.Constant:
		return "constant, " + catalog.Short(r.BaseDelay.V) + jitter(r)
	}
	text := r.Backoff.V.String() + " from " + catalog.Short(r.BaseDelay.V)
	if r.Backoff.V == retry.Exponential {
		text += ", ×" + strconv.FormatFloat(r.Multiplier.V, 'g', -1, 64)
	}
	return text + ", at most " + catalog.Short(r.MaxDelay.V) + jitter(r)
}

func jitter(r catalog.Retry) string {
	if r.Jitter.V == 0 {
		return ""
	}
	return ", ± " + percent(r.Jitter.V)
}

func percent(fraction float64) string {
	return strconv.FormatFloat(fraction*100, 'g', 4, 64) + " %"
}

func batches(b catalog.Batch) string {
	text := fmt.Sprintf("up to %d events, ", b.Size.V)
	if b.Wait.V == 0 {
		text += "without waiting for more"
	} else {
		text += "at the latest " + catalog.Short(b.Wait.V) + " after the first"
	}
	return text + ", if the program handles batches"
}
