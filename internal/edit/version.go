package edit

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// AddVersion raises the version of an event, and copies its payload, with its mixins, to its history, so that the payload can
// be changed. The event must be a block, and not in { }.
func AddVersion(c *Catalogue, event string) (*Change, error) {
	ed, err := newEditor(c)
	if err != nil {
		return nil, err
	}
	key := ed.key("events", event)
	if key == nil {
		return nil, &NotFoundError{What: "event", Name: event, Names: ed.names("events")}
	}
	d := ed.home[key]
	_, body := value(d.at("events"), event)
	_, history := value(body, "history")
	if !isBlock(body) || history != nil && !isBlock(history) {
		return nil, fmt.Errorf("%s:%d: event %s is written in { }: write each of its keys on a line of its own first", d.name, key.Line, event)
	}
	present := 1
	if _, written := value(body, "version"); written != nil {
		if present, err = strconv.Atoi(written.Value); err != nil {
			return nil, errors.New("its version is not a number")
		}
	}
	d.addVersion(event, body, present)
	return c.checked([]File{{d.name, d.text()}}, 1)
}

// addVersion changes the lines of an event, from the last to the first.
func (d *document) addVersion(event string, body *yaml.Node, present int) {
	f := &formatter{document: d}
	events := d.at("events")
	_, end := d.section("events")
	all := f.chunks(events, events.Content[0].Line-1, end)
	own := all[slices.IndexFunc(all, func(c chunk) bool { return c.key.Value == event })]
	keys := f.chunks(body, own.line+1, d.contentEnd(own))
	indent := body.Content[0].Column - 1
	last := &keys[len(keys)-1]
	last.end = f.split(*last, last.end, indent) // without the comments after it, which are not part of the event

	old := d.oldVersion(keys, indent+indentation, present)
	if i := slices.IndexFunc(keys, func(c chunk) bool { return c.key.Value == "history" }); i >= 0 {
		d.lines = slices.Insert(d.lines, d.contentEnd(keys[i]), old...)
	} else {
		d.lines = slices.Insert(d.lines, d.placeOf("history", keys), append([]string{strings.Repeat(" ", indent) + "history:"}, old...)...)
	}
	if _, written := value(body, "version"); written != nil {
		d.replace([]replacement{{written.Line, written.Column, len(written.Value), strconv.Itoa(present + 1)}})
	} else {
		d.lines = slices.Insert(d.lines, d.placeOf("version", keys), fmt.Sprintf("%sversion: %d", strings.Repeat(" ", indent), present+1))
	}
}

// oldVersion returns the entry of the history: the mixins and the payload as they are, indented further.
func (d *document) oldVersion(keys []chunk, indent, version int) []string {
	begin := strings.Repeat(" ", indent) + strconv.Itoa(version) + ":"
	lines := []string{begin}
	for _, name := range []string{"mixins", "payload"} {
		i := slices.IndexFunc(keys, func(c chunk) bool { return c.key.Value == name })
		if i < 0 {
			continue
		}
		for _, line := range d.lines[keys[i].line:d.contentEnd(keys[i])] {
			if !isBlank(line) {
				line = strings.Repeat(" ", 2*indentation) + line
			}
			lines = append(lines, line)
		}
	}
	if len(lines) == 1 {
		return []string{begin + " {}"}
	}
	return lines
}

// placeOf returns the line before which a key of an event belongs.
func (d *document) placeOf(key string, keys []chunk) int {
	place := keys[0].start
	for _, c := range keys {
		if eventKeys.rank(c.key.Value) < eventKeys.rank(key) {
			place = max(place, d.contentEnd(c))
		}
	}
	return place
}
