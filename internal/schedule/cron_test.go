package schedule

import (
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/robfig/cron/v3"
)

func TestABrokenExpressionIsNamedWithItsPlace(t *testing.T) {
	for text, want := range map[string]string{
		"":                      "0: a cron expression has five fields, and this one has 0; they are minute, hour, day of the month, month and day of the week, as in 0 3 * * *",
		"0 3 * *":               "0: a cron expression has five fields, and this one has 4; they are minute, hour, day of the month, month and day of the week, as in 0 3 * * *",
		"0 0 3 * * *":           "10: a cron expression has five fields, and this one has 6; there is no field for seconds: they are minute, hour, day of the month, month and day of the week, as in 0 3 * * *",
		"CRON_TZ=UTC 0 3 * * *": "0: a cron expression has five fields, and this one has 6; the time zone is a key of its own, time_zone",
		"60 * * * *":            `0: "60" is no minute; use numbers from 0 to 59`,
		"0  24 * * *":           `3: "24" is no hour; use numbers from 0 to 23`,
		"0 3 0 * *":             `4: "0" is no day of the month; use numbers from 1 to 31`,
		"0 3 * 1,fev *":         `8: "fev" is no month; use numbers from 1 to 12, or names from jan to dec`,
		"0 3 * * mon-frl":       `12: "frl" is no day of the week; use numbers from 0 to 7, or names from sun to sat`,
		"0 3 L * *":             `4: "L" is no day of the month; use numbers from 1 to 31; L, W and # are not known`,
		"0 3 ? * *":             `4: "?" is no day of the month; write * for any`,
		"5/15 * * * *":          "0: 5/15 of the minute has a step and no range; write 5-59/15",
		"*/0 * * * *":           `2: the step "0" of the minute is not a number from 1 on`,
		"*/ * * * *":            `2: the step "" of the minute is not a number from 1 on`,
		"*/+5 * * * *":          `2: the step "+5" of the minute is not a number from 1 on`,
		"-5 * * * *":            `0: "" is no minute; use numbers from 0 to 59`,
		"0 3 * * fri-mon":       "8: the range fri-mon of the day of the week ends before it begins; write two ranges with a comma between them",
		"0,,5 * * * *":          `2: "" is no minute; use numbers from 0 to 59`,
		"0 3 30 2 *":            "4: no such day exists: the expression never matches",
		"0 3 31 4,6,9,11 *":     "4: no such day exists: the expression never matches",
		"@every 15m":            `0: "@every 15m" is no name of an expression; use every instead of cron: every: 15m`,
		"@reboot":               `0: "@reboot" is no name of an expression; publish the event when the program starts`,
		"@fortnightly":          `0: "@fortnightly" is no name of an expression; use @hourly, @daily, @weekly, @monthly or @yearly`,
	} {
		_, err := ParseCron(text)
		bad, ok := errors.AsType[*Error](err)
		if !ok {
			t.Errorf("%q is accepted: %v", text, err)
		} else if got := strconv.Itoa(bad.Offset) + ": " + bad.Error(); got != want {
			t.Errorf("%q:\n got %s\nwant %s", text, got, want)
		}
	}
}

func TestSundayIsZeroAndSeven(t *testing.T) {
	zero, err := ParseCron("0 0 * * 0")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"0 0 * * 7", "0 0 * * Sun", "@weekly", " 0 0\t*  * 7-7 "} {
		if c, err := ParseCron(text); err != nil || c != zero {
			t.Errorf("%q is %+v, %v", text, c, err)
		}
	}
	if c, err := ParseCron("0 0 * * 5-7"); err != nil || c.weekdays != 1|1<<5|1<<6 {
		t.Errorf("5-7 is %b, %v", c.weekdays, err)
	}
}

// In UTC, where no clock is changed, the times are those of another implementation.
func TestTheTimesInUTCAreThoseOfRobfigsCron(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	compared := 0
	for range 3000 {
		text := randomExpression(random)
		if parts := strings.Fields(text); strings.HasPrefix(parts[2], "*/") || strings.HasPrefix(parts[4], "*/") {
			continue // for the other one these do not begin with *, as they do in the manual of cron
		}
		ours, err := ParseCron(text)
		theirs, theirErr := cron.ParseStandard(text)
		if bad, ok := errors.AsType[*Error](err); ok && strings.HasPrefix(bad.Message, "no such day") {
			if next := theirs.Next(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)); !next.IsZero() {
				t.Errorf("%q matches %v", text, next)
			}
			continue
		}
		if err != nil || theirErr != nil {
			t.Fatalf("%q: %v, %v", text, err, theirErr)
		}
		at := time.Date(2000+random.IntN(100), time.Month(1+random.IntN(12)), 1+random.IntN(31), random.IntN(24), random.IntN(60), random.IntN(60), random.IntN(1e9), time.UTC)
		for range 5 {
			want := theirs.Next(at)
			if want.IsZero() { // it gives up after five years
				break
			}
			got := ours.Next(at, time.UTC)
			if !got.Equal(want) {
				t.Fatalf("%q after %v is %v, want %v", text, at, got, want)
			}
			at, compared = got, compared+1
		}
	}
	if compared < 4000 {
		t.Errorf("only %d times were compared", compared)
	}
}

func randomExpression(random *rand.Rand) string {
	var parts []string
	for _, f := range fields {
		high := f.max
		if high == 7 {
			high = 6 // the other one does not know 7
		}
		number := func() int { return f.min + random.IntN(high-f.min+1) }
		item := func() string {
			switch low, up := number(), number(); random.IntN(4) {
			case 0:
				return strconv.Itoa(min(low, up)) + "-" + strconv.Itoa(max(low, up))
			case 1:
				return strconv.Itoa(min(low, up)) + "-" + strconv.Itoa(max(low, up)) + "/" + strconv.Itoa(1+random.IntN(9))
			case 2:
				return "*/" + strconv.Itoa(1+random.IntN(70))
			}
			return strconv.Itoa(number())
		}
		part := "*"
		if random.IntN(2) == 0 {
			part = item()
			for random.IntN(3) == 0 {
				// Where * is in a list, but not at its beginning, opinions differ on the days.
				if next := item(); next[0] != '*' {
					part += "," + next
				}
			}
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, " ")
}
