package catalogue

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDescribeShowsTheHeadersOfAnEvent(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": `version: 1
package: events
headers: { tenant: { type: string, required: true, doc: Whose data it is. } }
policies: { order.*: { headers: { page: int } } }
events: { order.placed: {}, user.created: {} }
`})
	text := strings.Join(strings.Fields(busgen(t, "describe order.placed").Stdout), " ")
	if want := "header tenant string, required (Whose data it is.) header page int "; !strings.Contains(text, want) {
		t.Errorf("got %s", text)
	}
	var got []eventObject
	if err := json.Unmarshal([]byte(busgen(t, "describe order.* --json").Stdout), &got); err != nil {
		t.Fatal(err)
	}
	want := []headerObject{{"tenant", "string", true, "Whose data it is."}, {"page", "int", false, ""}}
	if diff := cmp.Diff(want, got[0].Headers); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
