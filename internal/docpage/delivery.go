package docpage

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/setting"
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
	var all []fact
	add := func(name, text string) { all = append(all, fact{name, text}) }
	for i, row := range setting.Plain {
		switch n := s.Plain(i).V; {
		case n == row.Default && !row.Always:
		case n == 0 && row.OffText != "":
			add(row.Label, row.OffText)
		case n > 0:
			add(row.Label, strings.ReplaceAll(row.Text, "%s", fmt.Sprint(catalog.InWords(row, n))))
		}
	}
	add("Backoff", backoff(s.Retry))
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
