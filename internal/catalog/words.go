package catalog

import (
	"strconv"
	"strings"
	"time"
)

// Words of the catalogue language.
const (
	Off       = "off"       // switches a setting off
	Permanent = "permanent" // says of errors that another attempt is in vain
)

// Short writes a duration as people do: 5m, where Go says 5m0s, and 7d.
func Short(d time.Duration) string {
	const day = 24 * time.Hour
	if d >= 2*day && d%day == 0 {
		return strconv.FormatInt(int64(d/day), 10) + "d"
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// Brief is [Short] for a duration of which only the leading digits matter.
func Brief(d time.Duration) string {
	switch {
	case d >= time.Minute:
		d = d.Round(time.Second)
	case d >= time.Second:
		d = d.Round(10 * time.Millisecond)
	case d >= time.Millisecond:
		d = d.Round(10 * time.Microsecond)
	}
	return Short(d)
}
