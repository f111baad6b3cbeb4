package terminal

import (
	"io"
	"time"
)

// Progress is a line that says how far some work is, on terminals only. It is
// not safe for concurrent use.
type Progress struct {
	out    io.Writer // nil to say nothing
	width  int
	next   time.Time // nothing new is said before
	length int       // of the line that is there
}

// progressDelay is how often the line changes at most.
const progressDelay = 100 * time.Millisecond

// NewProgress returns a line on w, or one that is never written if w is not a
// terminal.
func NewProgress(w io.Writer) *Progress {
	width, _, terminal := size(w)
	if !terminal {
		return &Progress{}
	}
	return &Progress{out: w, width: width}
}

// Say replaces the line, unless it was replaced a moment ago.
func (p *Progress) Say(text string) {
	now := time.Now()
	if p.out == nil || now.Before(p.next) {
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
