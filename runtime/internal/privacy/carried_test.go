package privacy_test

import (
	"strings"
	"testing"

	"github.com/busgen/busgen/runtime/internal/privacy"
)

const sentSchema = `{"event":"user.registered","version":1,"payload":{"number":"string","email":{"type":"string","sensitive":true}}}`

func TestWhatIsSensitiveIsHiddenInAMessageThatOthersHaveSent(t *testing.T) {
	shape := privacy.Read(sentSchema)
	for name, one := range map[string]struct{ payload, want, error, shown string }{
		"an event": {
			`{"id":"ada@x.org","type":"user.registered","metadata":{"by":"ada@x.org","to":"you"},"payload":{"number":"1","email":"ada@x.org"}}`,
			`{"id":"[hidden]","type":"user.registered","metadata":{"by":"[hidden]","to":"you"},"payload":{"number":"1","email":"[hidden]"}}`,
			"no mailbox ada@x.org", "no mailbox [hidden]",
		},
		"what is no event": {
			`{"id":"7","type":"user.registered","metadata":{"by":"ada@x.org"},"body":"ada@x.org,1","problem":"the body is not JSON in UTF-8"}`,
			`{"id":"[hidden]","type":"user.registered","metadata":"[hidden]","body":"[hidden]","problem":"the body is not JSON in UTF-8"}`,
			"the body is not JSON in UTF-8", "the body is not JSON in UTF-8",
		},
		"no message": {`["ada@x.org"]`, `"[hidden]"`, `["ada@x.org"]`, `[hidden]`},
	} {
		shown, veil := shape.HideSent([]byte(one.payload))
		if string(shown) != one.want || veil.Text(one.error) != one.shown {
			t.Errorf("%s is shown as\n%s, want\n%s; and %q as %q", name, shown, one.want, one.error, veil.Text(one.error))
		}
	}
	for eventType, want := range map[string]string{"user.registered": "user.registered", "$dead.user.registered": "user.registered", "$inbox": "other"} {
		if of, _ := privacy.Carried(eventType, []byte(`{"type":"other"}`)); of != want {
			t.Errorf("%s carries %q, want %q", eventType, of, want)
		}
	}
	open := `{"id":"7","type":"order.placed","payload":{}}`
	if shown, veil := (*privacy.Shape)(nil).HideSent([]byte(open)); string(shown) != open || !strings.Contains(veil.Text(open), "order.placed") {
		t.Errorf("what has nothing to hide is shown as %s", shown)
	}
}
