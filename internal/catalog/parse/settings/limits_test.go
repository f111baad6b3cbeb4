package settings_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/runtime/declare"
)

// What the reader accepts does not panic when the program starts, and it refuses nothing that a bus could keep.
func TestTheReaderAcceptsTheLimitsThatABusCanKeep(t *testing.T) {
	const absent = -5
	numbers := []int{absent, -1, 1, 10, 11, 1_000_000, 1_000_001}
	pers := []time.Duration{0, time.Millisecond - 1, time.Millisecond, 366 * 24 * time.Hour, 366*24*time.Hour + 1}
	accepted := 0
	for _, atOnce := range []int{absent, 1, 1_000_001} {
		for _, rate := range numbers {
			for _, per := range pers {
				want := declare.Limit{Name: "l"}
				var body []string
				if atOnce != absent {
					want.AtOnce = atOnce
					body = append(body, fmt.Sprint("at_once: ", atOnce))
				}
				if rate != absent {
					want.Rate, want.Per = rate, per
					body = append(body, fmt.Sprintf("rate: %d per %v", rate, per))
				}
				if agreeOn(t, strings.Join(body, ", "), want) {
					accepted++
				}
			}
		}
	}
	if accepted < 20 {
		t.Errorf("only %d are accepted", accepted)
	}
}

// agreeOn compares what the reader makes of a limit with what a bus says of it.
func agreeOn(t *testing.T, body string, want declare.Limit) (accepted bool) {
	t.Helper()
	c, findings := parse.Text("events.yaml", []byte("version: 1\npackage: p\nevents: { e: {} }\nlimits: { l: { "+body+" } }\n"))
	if err := want.Validate(); (err == nil) != (findings == nil) {
		t.Errorf("%s: the bus says %v, and the reader %v", body, err, findings)
	}
	if c == nil {
		return false
	}
	if got := c.Limits[0].Limit; got != want {
		t.Errorf("%s is read as %+v", body, got)
	}
	return true
}

// A limit of the defaults must suit every event that has it, and the finding says how many it does not suit.
func TestALimitThatSuitsNotAllEventsIsReportedOnce(t *testing.T) {
	const source = `version: 1
package: p
limits: { tenant: { at_once: 1 } }
defaults: { limits: [{ limit: tenant, by: tenant_id }] }
events:
  a: { payload: { tenant_id: uuid } }
  b: { subscriptions: { s: {} } }
  c: { limits: off, subscriptions: { u: { limits: [tenant] } } }
  d: { payload: { tenant_id: "uuid?" } }
  e: { limits: off, subscriptions: { v: {} } }
`
	_, findings := parse.Text("events.yaml", []byte(source))
	const want = "limit tenant is by tenant_id, but the payload of event b has no field tenant_id (and so for 1 more)"
	if len(findings) != 1 || findings[0].Message != want {
		t.Errorf("%v", findings)
	}
}
