package inspection

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
)

// threeKinds makes n dead letters: half of them timeouts of a database, a third
// rejected payments, and the others panics; no two errors have the same text.
func (env *Env) threeKinds(t *testing.T, n int) *jobBus {
	t.Helper()
	f := env.OpenJobs(t)
	f.Failing(func(number int) error {
		switch {
		case number%2 == 0:
			return runtime.Permanent(fmt.Errorf("query %s: dial tcp 10.0.%d.%d:5432: i/o timeout", uuid.New(), number/256, number%256))
		case number%3 == 0:
			var account map[string]int
			account[fmt.Sprint(number)] = number
			return nil
		default:
			return runtime.Permanent(fmt.Errorf("account %q: %w", fmt.Sprint("a-", number), errRejected))
		}
	})
	f.Publish(Numbers(0, n)...)
	return f
}

var errRejected = errors.New("the payment was rejected")

func (env *Env) TestDeadLettersOfOneKindAreOneGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 10_000
		f := env.threeKinds(t, n)
		i := f.Inspect()
		groups, err := i.FailureGroups(t.Context(), event.Filter{})
		Must(t, err)
		want := []event.FailureGroup{
			{Reason: "permanent", Message: "query <id>: dial tcp <addr>: i/o timeout", Count: n / 2},
			{Reason: "permanent", Message: "account <text>: the payment was rejected", Count: 3333},
			{Reason: "max_attempts", Message: "panic: assignment to entry in nil map", Count: 1667},
		}
		if len(groups) != len(want) {
			t.Fatalf("%d groups, want three: %+v", len(groups), groups)
		}
		for n, g := range groups {
			if g.Reason != want[n].Reason || g.Message != want[n].Message || g.Count != want[n].Count || g.ErrorType == "" ||
				!slices.Equal(g.Types, []string{"job.queued"}) || !slices.Equal(g.Subscriptions, []string{"worker"}) {
				t.Errorf("group %d is %+v, want %+v", n, g, want[n])
			}
			members, err := i.CountDeadLetters(t.Context(), event.Filter{Group: g.Fingerprint})
			Must(t, err)
			newest, _, err := i.DeadLetters(t.Context(), event.Filter{Group: g.Fingerprint}, event.Page{Limit: 1})
			Must(t, err)
			if members != g.Count || newest[0].Key != g.Sample || !newest[0].DeadAt.Equal(g.Last) || g.First.After(g.Last) {
				t.Errorf("group %d is %+v and has %d members, the newest %+v", n, g, members, newest[0])
			}
		}
	})
}

func (env *Env) TestAGroupSpansTypesAndSubscriptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.OpenJobs(t)
		f.Failing(func(int) error { return errRejected })
		f.Publish(1)
		time.Sleep(time.Minute)
		Must(t, Second(runtime.Publish(t.Context(), f.Bus, taskType, job{Number: 2})))
		f.Idle()
		i := f.Inspect()
		groups, err := i.FailureGroups(t.Context(), event.Filter{})
		Must(t, err)
		if len(groups) != 1 || !slices.Equal(groups[0].Types, []string{"job.queued", "task.queued"}) || groups[0].Count != 2 ||
			groups[0].Last.Sub(groups[0].First) < time.Minute {
			t.Errorf("the groups are %+v", groups)
		}
		groups, err = i.FailureGroups(t.Context(), event.Filter{Types: []string{"job.*"}})
		Must(t, err)
		if len(groups) != 1 || !slices.Equal(groups[0].Types, []string{"job.queued"}) || groups[0].Count != 1 || !groups[0].Last.Equal(groups[0].First) {
			t.Errorf("the groups of jobs are %+v", groups)
		}
	})
}

// clientError is like those of HTTP clients: the code is not in its text.
type clientError struct{ code int }

func (e clientError) Error() string   { return "the customer's server refuses the call" }
func (e clientError) StatusCode() int { return e.code }

func (env *Env) TestCausesThatACodeTellsApartAreGroupsOfTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.OpenJobs(t)
		causes := []error{
			errors.New("PUT https://crm.example/contacts: status 404"), errors.New("PUT https://crm.example/contacts: status 503"),
			errors.New("PUT https://crm.example/contacts: status 401"), errors.New(`relation "users" does not exist`), errors.New(`relation "orders" does not exist`),
			errors.New("smtp: 451 greylisted"), errors.New("smtp: 550 no such user"), errors.New("exit status 1"), errors.New("exit status 137"),
			errors.New(`open "/etc/shop.conf": permission denied`), errors.New(`open "/var/lib/shop/key.pem": permission denied`),
			errors.New("rpc error: code = 5"), errors.New("rpc error: code = 14"), clientError{409}, clientError{410},
		}
		f.Failing(func(number int) error {
			return runtime.Permanent(fmt.Errorf("job %d: %w", number, causes[number%len(causes)]))
		})
		f.Publish(Numbers(0, 2*len(causes))...)
		groups, err := f.Inspect().FailureGroups(t.Context(), event.Filter{})
		Must(t, err)
		if len(groups) != len(causes) {
			t.Errorf("%d causes are %d groups: %+v", len(causes), len(groups), groups)
		}
	})
}
