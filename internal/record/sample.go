package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/payload"
)

// A sample is a line of the older form of records: a payload of a version of an event. If it still decodes,
// the first record of facts replaces it.
type sample struct {
	event   string
	version int
	json    string
	line    string
	at      diag.Position
}

var sampleLine = regexp.MustCompile(`^(\S+) (\d+) (\{.*)$`)

func parseSample(line string, at diag.Position) (sample, bool) {
	parts := sampleLine.FindStringSubmatch(line)
	if parts == nil || !json.Valid([]byte(parts[3])) {
		return sample{}, false
	}
	version, err := strconv.Atoi(parts[2])
	return sample{parts[1], version, parts[3], line, at}, err == nil
}

// String returns the line.
func (s sample) String() string { return s.line }

// checkSamples reports versions of events whose samples do not decode with the catalogue.
func checkSamples(c *catalog.Catalogue, samples []sample, place func(diag.Position) diag.Place) diag.Findings {
	var all diag.Findings
	reported := map[string]bool{}
	for _, s := range samples {
		key := fmt.Sprintf("%s %s %d", rules.WireRecord.ID, s.event, s.version)
		e, err := c.EventNamed(s.event), payload.CheckDecode(c, s.event, s.version, []byte(s.json))
		if err == nil || reported[key] || e != nil && isDropped(e, s.version) {
			continue
		}
		reported[key] = true
		at := c.Package.Pos
		if e != nil {
			at = e.Name.Pos
		}
		f := rules.WireRecord.At(place(at), "%s, version %d: what is stored could not be decoded: %s", s.event, s.version, reason(err))
		f.Hint, f.Subject, f.Direction, f.Key = "raise its version and keep the old payload under history", s.event, diag.Backward, key
		f.See(diag.LineOf(s.at.File, s.at.Line, s.line), "it is stored like this")
		all = append(all, f)
	}
	return all
}

func isDropped(e *catalog.Event, version int) bool {
	_, read := e.FieldsOf(version)
	return !read && version < e.Version.V
}

// reason returns the first problem of a payload.
func reason(err error) string {
	var wrong *payload.Error
	if errors.As(err, &wrong) {
		return wrong.Problems[0].String()
	}
	return err.Error()
}
