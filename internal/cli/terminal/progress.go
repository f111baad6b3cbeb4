package terminal

import (
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// Progress says how far some work is: on a terminal in a line that is replaced, and to programs in lines of JSON.
// It is not safe for concurrent use.
type Progress struct {
	out    io.Writer // nil to say nothing
	lines  bool      // of JSON
	width  int
	began  time.Time
	next   time.Time // nothing new is said before
	length int       // of the line that is there
}

const (
	// progressDelay is how often the line changes at most.
	progressDelay = 100 * time.Millisecond
	// linesDelay is how often there is a line of JSON, and from when on.
	linesDelay = time.Second
)

// NewProgress returns a line on w, or one that is never written if w is not a terminal. With lines, it writes lines of JSON
// instead, wherever w leads. The work begins now.
func NewProgress(w io.Writer, lines bool) *Progress {
	now := time.Now()
	if lines {
		return &Progress{out: w, lines: true, began: now, next: now.Add(linesDelay)}
	}
	width, _, terminal := size(w)
	if !terminal {
		return &Progress{}
	}
	return &Progress{out: w, width: width, began: now}
}

// At says how much is done: "retried 3,000 of 12,000 dead letters, 480/s, 19 s left". With a whole of 0 the total is
// unknown. A line of JSON has done, of, per_second and seconds_left, those of them that are known.
func (p *Progress) At(done string, n, whole int, what string) {
	if p.out == nil {
		return
	}
	rate, left := 0.0, 0.0
	if took := time.Since(p.began); n > 0 && took >= linesDelay {
		rate = float64(n) / took.Seconds()
		left = float64(max(whole-n, 0)) / rate
	}
	if p.lines {
		p.line(n, whole, rate, left)
		return
	}
	text := done + " " + Number(n)
	if whole > 0 {
		text += " of " + Number(whole)
	}
	text += " " + what
	if rate > 0 {
		text += ", " + Rate(rate) + "/s"
	}
	if left > 0 {
		text += ", " + Span(time.Duration(left*float64(time.Second))) + " left"
	}
	p.Say(text)
}

// line writes a line of JSON, unless there was one a moment ago.
func (p *Progress) line(n, whole int, rate, left float64) {
	now := time.Now()
	if now.Before(p.next) {
		return
	}
	p.next = now.Add(linesDelay)
	text, _ := json.Marshal(struct { // numbers cannot fail
		Done int     `json:"done"`
		Of   int     `json:"of,omitempty"`
		Rate float64 `json:"per_second,omitempty"`
		Left float64 `json:"seconds_left,omitempty"`
	}{n, whole, rate, left})
	fmt.Fprintf(p.out, "%s\n", text)
}

// Say replaces the line, unless it was replaced a moment ago. Programs are not told.
func (p *Progress) Say(text string) {
	now := time.Now()
	if p.out == nil || p.lines || now.Before(p.next) {
		return
	}
	p.next = now.Add(progressDelay)
	if p.width > 1 {
		text = Cut(text, p.width-1)
	}
	p.length = Width(text)
	io.WriteString(p.out, "\r\x1b[K"+text)
}

// Done removes the line.
func (p *Progress) Done() {
	if p.length > 0 {
		io.WriteString(p.out, "\r\x1b[K")
		p.length = 0
	}
}
