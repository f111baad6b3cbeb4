package words

import (
	"errors"
	"strconv"
	"time"
)

// longUnits are units that time.ParseDuration does not know.
var longUnits = map[byte]time.Duration{'d': 24 * time.Hour, 'w': 7 * 24 * time.Hour}

// ParseSpan reads a length of time as people type it: what time.ParseDuration takes, or days or weeks, as in 7d and 1w.
func ParseSpan(text string) (time.Duration, error) {
	if text != "" {
		if unit := longUnits[text[len(text)-1]]; unit > 0 {
			if n, err := strconv.Atoi(text[:len(text)-1]); err == nil && n >= 0 && n < 10_000 {
				return time.Duration(n) * unit, nil
			}
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, errors.New("want a length of time, as in 90m, 2h, 7d or 1w")
	}
	return d, nil
}
