package wire

import "time"

// appendMoment appends t in RFC 3339 as its method AppendText does, with quotes. It returns false for moments that it
// leaves to AppendText: those with another offset from UTC than zero, and those whose year has more than four digits.
// It writes moments whose offset has seconds in UTC.
func appendMoment(buf []byte, t time.Time) ([]byte, bool) {
	if t.Location() != time.UTC {
		if _, offset := t.Zone(); offset != 0 && !hasSeconds(offset) {
			return buf, false
		}
		t = t.UTC()
	}
	year, month, day := t.Date()
	if year < 0 || year > 9999 {
		return buf, false
	}
	hour, minute, second := t.Clock()
	start := len(buf)
	buf = append(buf, `"0000-00-00T00:00:00.000000000Z"`...)
	text := (*[32]byte)(buf[start:])
	twoDigits(text[1:3], uint(year)/100)
	twoDigits(text[3:5], uint(year)%100)
	twoDigits(text[6:8], uint(month))
	twoDigits(text[9:11], uint(day))
	twoDigits(text[12:14], uint(hour))
	twoDigits(text[15:17], uint(minute))
	twoDigits(text[18:20], uint(second))
	end := 20
	if n := uint(t.Nanosecond()); n != 0 {
		twoDigits(text[21:23], n/1e7)
		twoDigits(text[23:25], n/1e5%100)
		twoDigits(text[25:27], n/1e3%100)
		twoDigits(text[27:29], n/10%100)
		text[29] = '0' + byte(n%10)
		for end = 30; text[end-1] == '0'; { // zeros at the end are left out
			end--
		}
	}
	text[end], text[end+1] = 'Z', '"'
	return buf[:start+end+2], true
}

// twoDigits sets text to n, which is less than 100.
func twoDigits(text []byte, n uint) {
	text[0], text[1] = '0'+byte(n/10), '0'+byte(n%10)
}

// parseMoment parses what appendMoment writes, at the start of text, and returns its length. The length is 0 for other
// moments, which UnmarshalText may know.
func parseMoment(text []byte) (t time.Time, length int) {
	if len(text) < len(`"2006-01-02T15:04:05Z"`) {
		return t, 0
	}
	head := (*[20]byte)(text)
	if head[0] != '"' || head[5] != '-' || head[8] != '-' || head[11] != 'T' || head[14] != ':' || head[17] != ':' {
		return t, 0
	}
	century, year := parseTwoDigits(head[1:3]), parseTwoDigits(head[3:5])
	month, day := parseTwoDigits(head[6:8]), parseTwoDigits(head[9:11])
	hour, minute, second := parseTwoDigits(head[12:14]), parseTwoDigits(head[15:17]), parseTwoDigits(head[18:20])
	if century > 99 || year > 99 || hour > 23 || minute > 59 || second > 59 {
		return t, 0
	}
	year += 100 * century
	if month < 1 || month > 12 || day < 1 || day > daysOf(month, year) {
		return t, 0
	}
	nanoseconds, at := 0, len(head)
	if text[at] == '.' {
		at++
		for unit := 100_000_000; at < len(text) && text[at]-'0' <= 9; unit /= 10 {
			nanoseconds += unit * int(text[at]-'0') // digits after the ninth do not count
			at++
		}
		if at == len(head)+1 {
			return t, 0
		}
	}
	if at+2 > len(text) || text[at] != 'Z' || text[at+1] != '"' {
		return t, 0
	}
	return time.Date(year, time.Month(month), day, hour, minute, second, nanoseconds, time.UTC), at + 2
}

// parseTwoDigits returns more than 99 if text is not two digits.
func parseTwoDigits(text []byte) int {
	tens, units := text[0]-'0', text[1]-'0'
	if tens > 9 || units > 9 {
		return 100
	}
	return 10*int(tens) + int(units)
}

// daysOf returns how many days a month has.
func daysOf(month, year int) int {
	if month == 2 && year%4 == 0 && (year%100 != 0 || year%400 == 0) {
		return 29
	}
	return [13]int{1: 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}[month]
}
