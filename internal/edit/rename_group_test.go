package edit_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/internal/edit"
)

const grouped = `version: 1
package: shop
events:
  payment.due:
    subscriptions:
      bank: { group: chain } # chain
      audit: { group: "chain", timeout: 1s }
  payment.refunded:
    subscriptions:
      chain-2: { group: chain }
      left: { group: other }
      right: { group: other }
`

// A group keeps its old name as an alias, so it gets an entry if it has none.
func TestAGroupIsRenamedInItsMembersAndKeepsItsName(t *testing.T) {
	members := strings.NewReplacer("group: chain", "group: payment-chain", `"chain"`, `"payment-chain"`).Replace(grouped)
	for name, test := range map[string]struct{ before, after string }{
		"without an entry":          {"", "\ngroups:\n  payment-chain: { aliases: [chain] }\n"},
		"an entry":                  {"groups:\n  chain: {}\n", "groups:\n  payment-chain: { aliases: [chain] }\n"},
		"an entry with a doc":       {"groups:\n  chain: { doc: Money. }\n", "groups:\n  payment-chain: { doc: Money., aliases: [chain] }\n"},
		"an entry with aliases":     {"groups:\n  chain: { aliases: [pay] }\n", "groups:\n  payment-chain: { aliases: [pay, chain] }\n"},
		"back":                      {"groups:\n  chain:\n    aliases: [pay, payment-chain]\n", "groups:\n  payment-chain:\n    aliases: [pay, chain]\n"},
		"a block":                   {"groups:\n  chain:\n    doc: Money.\n", "groups:\n  payment-chain:\n    doc: Money.\n    aliases: [chain]\n"},
		"an entry of another":       {"groups:\n  other: { doc: Two. }\n", "groups:\n  other: { doc: Two. }\n  payment-chain: { aliases: [chain] }\n"},
		"entries in braces":         {"groups: { other: {} }\n", "groups: { payment-chain: { aliases: [chain] }, other: {} }\n"},
		"a section that is empty":   {"groups: {}\n", "groups: { payment-chain: { aliases: [chain] } }\n"},
		"no blank line":             {"schedules:\n  nightly: { event: payment.due, every: 1h }\n", "groups:\n  payment-chain: { aliases: [chain] }\nschedules:\n  nightly: { event: payment.due, every: 1h }\n"},
		"a section that is to come": {"\n# Times.\nschedules:\n  nightly: { event: payment.due, every: 1h }\n", "\ngroups:\n  payment-chain: { aliases: [chain] }\n\n# Times.\nschedules:\n  nightly: { event: payment.due, every: 1h }\n"},
	} {
		t.Run(name, func(t *testing.T) {
			change, err := edit.RenameGroup(one(grouped+test.before), "chain", "payment-chain")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(members+test.after, string(change.Files[0].Text)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAGroupIsRenamedInAllFiles(t *testing.T) {
	c := several("version: 1\npackage: shop\ninclude: [payments.yaml]\nevents:\n  order.placed: { subscriptions: { book: { group: chain } } }\n",
		"version: 1\nevents:\n  payment.due: { subscriptions: { pay: { group: chain } } }\ngroups:\n  chain: {}\n")
	change, err := edit.RenameGroup(c, "chain", "payment-chain")
	if err != nil {
		t.Fatal(err)
	}
	if len(change.Files) != 2 || !strings.Contains(string(change.Files[0].Text), "group: payment-chain") ||
		!strings.Contains(string(change.Files[1].Text), "payment-chain: { aliases: [chain] }") {
		t.Errorf("changed: %q", change.Files)
	}
}

func TestAGroupIsNotRenamedToWhatIsThereOrCannotBe(t *testing.T) {
	for to, want := range map[string]string{
		"other":   "there is a group other, and the members of both would be in it; choose another name",
		"left":    "group left has the same name as subscription left",
		"Payment": "does not have a valid name",
	} {
		_, err := edit.RenameGroup(one(grouped), "chain", to)
		if refused, ok := errors.AsType[*edit.RefusedError](err); !ok || !strings.Contains(refused.Error(), want) {
			t.Errorf("to %s: %v", to, err)
		}
	}
	_, err := edit.RenameGroup(one(grouped), "chian", "payment-chain")
	if missing, ok := errors.AsType[*edit.NotFoundError](err); !ok || !cmp.Equal(missing.Names, []string{"chain", "other"}) {
		t.Errorf("one that does not exist: %#v", err)
	}
}
