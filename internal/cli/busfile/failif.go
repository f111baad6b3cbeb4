package busfile

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/busgen/busgen/internal/beforehand"
	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/words"
	"github.com/busgen/busgen/runtime/event"
)

// threshold is a condition of --fail-if: dead>100, charge-card:oldest>10m.
type threshold struct {
	text         string
	subscription string // empty for the sum of all
	field        string
	operator     string
	limit        float64 // of oldest in seconds
}

// thresholdFields lists the numbers of status that a condition can compare.
var thresholdFields = []string{"dead", "backlog", "oldest", "waiting", "held", "running", "unhandled", "saturated",
	"stalled", "dispatchers", "unwritable"}

var (
	thresholdForm = regexp.MustCompile(`^(?:(.+):)?([a-z_]+)\s*(>=|<=|>|<|=)\s*(.+)$`)
	operators     = map[string]func(a, b float64) bool{
		">":  func(a, b float64) bool { return a > b },
		">=": func(a, b float64) bool { return a >= b },
		"<":  func(a, b float64) bool { return a < b },
		"<=": func(a, b float64) bool { return a <= b },
		"=":  func(a, b float64) bool { return a == b },
	}
)

func parseThreshold(text string) (t threshold, err error) {
	match := thresholdForm.FindStringSubmatch(strings.TrimSpace(text))
	if match == nil {
		return t, fmt.Errorf("--fail-if %q: want a condition, as in dead>100, oldest>10m or charge-card:dead>0", text)
	}
	t = threshold{text: text, subscription: match[1], field: match[2], operator: match[3]}
	switch {
	case !slices.Contains(thresholdFields, t.field):
		return t, fmt.Errorf("--fail-if %q: there is no number %s%s", text, t.field,
			beforehand.Meant(t.field, thresholdFields, nil, "there are"))
	case (t.field == "dispatchers" || t.field == "unwritable") && t.subscription != "":
		return t, fmt.Errorf("--fail-if %q: %s is about all subscriptions: leave the name out", text, t.field)
	case t.field == "oldest":
		limit, err := words.ParseSpan(match[4])
		if err != nil {
			return t, fmt.Errorf("--fail-if %q: %q is no age: %w", text, match[4], err)
		}
		t.limit = limit.Seconds()
	default:
		n, err := strconv.Atoi(strings.ReplaceAll(match[4], ",", ""))
		if err != nil {
			return t, fmt.Errorf("--fail-if %q: %q is not a whole number", text, match[4])
		}
		t.limit = float64(n)
	}
	return t, nil
}

// exceeded says why the condition holds. It returns nothing if it does not hold.
func (t threshold) exceeded(status event.Status, now time.Time) string {
	value, shown := 0.0, ""
	switch {
	case t.field == "dispatchers" && status.Owner != nil && status.Owner.Alive,
		t.field == "unwritable" && status.Unwritable != "":
		value = 1
	}
	for _, s := range status.Subscriptions {
		if t.subscription != "" && s.Name != t.subscription {
			continue
		}
		switch t.field {
		case "dead":
			value += float64(s.Dead)
		case "backlog": // a backlog that is not counted to its end is taken at its maximum
			value += float64(max(s.Backlog, s.BacklogAtMost))
		case "waiting":
			value += float64(s.Waiting)
		case "held":
			value += float64(s.Held)
		case "running":
			value += float64(s.Running)
		case "unhandled":
			if s.Unhandled {
				value++
			}
		case "saturated":
			if s.Saturated {
				value++
			}
		case "stalled":
			if len(s.Stalled) > 0 {
				value++
			}
		case "oldest":
			if !s.Oldest.IsZero() {
				value = max(value, now.Sub(s.Oldest).Seconds())
			}
		}
	}
	if !operators[t.operator](value, t.limit) {
		return ""
	}
	shown = strconv.FormatFloat(value, 'f', -1, 64)
	if t.field == "oldest" {
		shown = time.Duration(value * float64(time.Second)).Round(time.Second).String()
	}
	name := t.field
	if t.subscription != "" {
		name = t.subscription + ":" + name
	}
	return fmt.Sprintf("%s is %s (--fail-if '%s')", name, shown, t.text)
}

// thresholds parses conditions. It refuses subscriptions that the file does not
// have.
func (c *call) thresholds(texts []string) (all []threshold, err error) {
	var names []string
	for _, text := range texts {
		one, err := parseThreshold(text)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
		if one.subscription != "" {
			names = append(names, one.subscription)
		}
	}
	return all, unknownIsNo(beforehand.Subscriptions(c.context(), c.file, names))
}

// fails returns the answer no if a condition holds.
func fails(all []threshold, status event.Status, now time.Time) error {
	var exceeded []string
	for _, one := range all {
		if what := one.exceeded(status, now); what != "" {
			exceeded = append(exceeded, what)
		}
	}
	if len(exceeded) == 0 {
		return nil
	}
	return cli.No(fmt.Errorf("%s", strings.Join(exceeded, "; ")))
}
