package breaking

import (
	"fmt"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
)

// allHeaders compares the headers of the events that are in both catalogues. Events with the same change are in one
// finding.
func (c *comparison) allHeaders() {
	for _, old := range c.before.Events {
		now := c.is[old.Name.V]
		if now == nil {
			continue
		}
		c.current = now
		was := byHeaderName(old.Headers)
		is := byHeaderName(now.Headers)
		gone := byHeaderName(old.RemovedHeaders)
		for _, h := range old.Headers {
			if is[h.Name.V] == nil {
				c.headerGone(h)
			} else {
				c.header(h, is[h.Name.V])
			}
		}
		for _, h := range now.Headers {
			if was[h.Name.V] != nil {
				continue
			}
			if before := gone[h.Name.V]; before != nil {
				c.headerType(before, h)
			}
			if h.Required.V {
				c.headerNeeded(h, diag.Position{}, "new and required")
			}
		}
	}
}

func byHeaderName(headers []*catalog.Header) map[string]*catalog.Header {
	all := map[string]*catalog.Header{}
	for _, h := range headers {
		all[h.Name.V] = h
	}
	return all
}

// headerType compares the types of two entries of one header.
func (c *comparison) headerType(old, now *catalog.Header) {
	if was, is := old.Type.Text, now.Type.Text; old.Type.Kind != now.Type.Kind {
		c.report(draft{rule: headerChanged, direction: diag.Both, at: now.Name.Pos, was: c.headerWas(old), subject: "headers",
			key:     fmt.Sprintf("%s %s->%s", now.Name.V, was, is),
			message: fmt.Sprintf("header %s is %s, and was %s", now.Name.V, is, was),
			hint:    "give the header of the new type another name"})
	}
}

// headerWas returns where a header was. A record has it once for each event, and findings show none of them, so that
// there is one for all events.
func (c *comparison) headerWas(old *catalog.Header) diag.Position {
	if !c.before.Package.Written() {
		return diag.Position{}
	}
	return old.Name.Pos
}

// header compares two entries of one header.
func (c *comparison) header(old, now *catalog.Header) {
	c.headerType(old, now)
	switch {
	case now.Required.V && !old.Required.V:
		c.headerNeeded(now, c.headerWas(old), "required, and was not")
	case old.Required.V && !now.Required.V:
		c.report(draft{rule: headerOptional, direction: diag.Forward, at: now.Name.Pos, was: c.headerWas(old), subject: "headers", key: now.Name.V,
			message: "header " + now.Name.V + " is not required any more: new events may lack it",
			hint:    "deploy handlers that do without it first"})
	}
}

func (c *comparison) headerNeeded(h *catalog.Header, was diag.Position, how string) {
	c.report(draft{rule: headerRequired, direction: diag.Backward, at: h.Name.Pos, was: was, subject: "headers", key: h.Name.V,
		message: fmt.Sprintf("header %s is %s: stored events may lack it, and nothing is published without it", h.Name.V, how),
		hint:    "let handlers expect runtime.ErrNoHeader until no event is left that lacks it"})
}

// headerGone reports a header that an event does not have any more.
func (c *comparison) headerGone(old *catalog.Header) {
	d := draft{rule: headerRemoved, direction: diag.Forward, at: c.current.Name.Pos, was: c.headerWas(old), subject: "headers", key: old.Name.V,
		message: "header " + old.Name.V + " is gone: new events lack it",
		hint:    "deploy handlers that do without it first"}
	if !old.Required.V {
		d.severity = diag.Note // a reader expects that it may be missing
	}
	if len(c.after.Headers) > 0 {
		d.at = c.after.Headers[0].Name.Pos
	}
	c.report(d)
}
