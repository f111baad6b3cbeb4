package conformance

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/dispatch"
	"github.com/busgen/busgen/runtime/retry"
)

// A seed draws limits with and without keys, partition keys, breakers by key, and how much a subscription holds in
// memory. Then jobs are published, handlers succeed, fail, snooze and end for good, keys and subscriptions are paused,
// jobs are cancelled, and the process is closed or killed, again and again, while most jobs are parked. A model beside
// it knows what each limit has room for, what has to come before what, and what is settled for good. Time is virtual.
//
//	go test ./runtime -run Conformance/TestParkedDeliveriesAreHandledOnceInTheOrderOfTheirKeys -parked.seed 4711 -v
//	go test ./runtime -run Conformance/TestParkedDeliveriesAreHandledOnceInTheOrderOfTheirKeys -parked.rounds 10000 -timeout 5h
var (
	parkedSeed   = flag.Uint64("parked.seed", 0, "the first seed of parked deliveries")
	parkedRounds = short.Flag("parked.rounds", 8, 4, "how many seeds of parked deliveries are tried")
)

// parkedFound are seeds that have found something: a turn that was lost in another waitlist, a read that found what had
// ended, a delivery that came back behind a later one of its key, one that was behind a suspect, and one that went behind
// a retry which nothing freed. 12 is for a breakage.
var parkedFound = [...]uint64{12, 14, 80, 269, 3137, 504436}

// customerKeys are those of the jobs of this test: each customer is of one of three groups.
var customerKeys = map[string]func(Job) string{
	"customer": func(j Job) string { return j.Customer },
	"group":    groupOf,
}

func groupOf(j Job) string { return "g" + j.Customer[len(j.Customer)-1:] }

// parkedLife is a bus most of whose jobs wait for each other, and what the model knows of them.
type parkedLife struct {
	*Fixture
	*rand.Rand
	env     *Env
	of      *runtime.EventType[Job]
	keyed   bool // by customer
	strict  bool
	breaks  bool // there is a breaker for each customer
	subs    []string
	uses    []string
	rules   map[string]declare.Limit
	window  int
	workers int
	trouble int // one of so many jobs does not succeed at once; 0 for none
	ids     []uuid.UUID
	kills   int
	says    string

	mu      sync.Mutex
	jobs    map[parkedJob]*jobState
	running map[string]int       // by limit and key
	full    map[string]time.Time // by limit and key: when a rate is full again
	waits   map[string]*keyTurn  // by subscription and customer: those that wait for their turn
	paused  map[string]bool      // by subscription and customer, or subscription
	most    int                  // turns of another key in one wait
	last    time.Time            // when a handler was called
	gap     time.Duration        // the longest time without that
	trace   func(string, ...any)
}

// parkedJob is a job and a subscription to it.
type parkedJob struct {
	sub    string
	number int
}

// jobState is what the model knows of a job.
type jobState struct {
	Job
	attempts int
	at       time.Time // it has ended
	ended    bool      // in any way
	final    bool      // that is stored for good
	unsure   bool      // it may have been cancelled, or the process was killed before its end was stored for sure
}

// keyTurn is a key that waits.
type keyTurn struct {
	others map[string]int // how often others have begun since
}

func (env *Env) newParkedLife(t *testing.T, seed uint64) *parkedLife {
	random := rand.New(rand.NewPCG(seed, 44))
	l := &parkedLife{
		Rand: random, env: env, jobs: map[parkedJob]*jobState{}, running: map[string]int{}, full: map[string]time.Time{},
		waits: map[string]*keyTurn{}, paused: map[string]bool{}, trace: func(string, ...any) {},
	}
	l.keyed, l.breaks = random.IntN(2) == 0, random.IntN(5) == 0
	l.strict = l.keyed && random.IntN(3) == 0
	l.window = []int{16, 24, 64, 256}[random.IntN(4)]
	l.workers = 1 + random.IntN(8)
	l.trouble = []int{0, 0, 10, 25}[random.IntN(4)]
	perCustomer := 1 + random.IntN(2)
	random.IntN(2) // limits had one setting more when the seeds in TestParked… found what they found
	l.rules = map[string]declare.Limit{
		"customer": {Name: "customer", AtOnce: perCustomer},
		"group":    {Name: "group", AtOnce: 1 + random.IntN(3)},
		"all":      {Name: "all", AtOnce: 1 + random.IntN(4)},
		"pace":     {Name: "pace", Rate: 20, Per: 100 * time.Millisecond},
	}
	ways := [][]string{
		{"customer by customer"}, {"all", "customer by customer"}, {"pace by customer"}, {"pace by customer", "all"},
		{"group by group"}, {"group by group", "customer by customer"}, {"all"}, nil,
	}
	l.uses = ways[random.IntN(len(ways)-2+2*btoi(l.keyed || l.breaks))]
	l.subs = []string{"work", "other"}[:1+random.IntN(4)/3]
	spec := runtime.Spec[Job]{Name: "job.parked", LimitKeys: customerKeys, Settings: Within(30*time.Second, Exact())}
	spec.Settings.Retry = Exact(retry.WithBackoff(retry.Constant), retry.BaseDelay(40*time.Millisecond), retry.MaxAttempts(1000))
	if l.keyed {
		spec.PartitionBy = func(j Job) string { return j.Customer }
	}
	l.of = runtime.Define(spec)
	l.says = fmt.Sprintf("seed %d: keyed %v, strict %v, breaks %v, window %d, workers %d, trouble %d, uses %q, rules %+v, subscriptions %v",
		seed, l.keyed, l.strict, l.breaks, l.window, l.workers, l.trouble, l.uses, l.rules, l.subs)
	if *parkedSeed == seed && parkedRounds.N() == 1 {
		l.trace = func(format string, args ...any) { t.Logf(time.Now().Format("05.000000 ")+format, args...) }
	}
	return l
}

func btoi(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// begin opens the bus.
func (l *parkedLife) begin(t *testing.T, target string) {
	t.Helper()
	var opts []runtime.Option
	for _, name := range []string{"customer", "group", "all", "pace"} {
		opts = append(opts, runtime.WithLimit(l.rules[name]))
	}
	l.Fixture = l.env.ReopenWith(t, target, runtime.NewCatalogue(l.of), opts...)
	l.mu.Lock()
	clear(l.running)
	l.mu.Unlock()
	for _, name := range l.subs {
		opts := []runtime.SubscribeOption{runtime.WithConcurrency(l.workers), limitedBy(l.uses...), runtime.FromBeginning()}
		if l.strict {
			opts = append(opts, runtime.WithStrictOrder())
		}
		if l.breaks {
			opts = append(opts, runtime.WithBreaker(breaker.On(), breaker.By("customer"), breaker.OpenFor(200*time.Millisecond)))
		}
		handle := l.handler(l.Fixture, name)
		_, err := runtime.Subscribe(l.Bus, l.of, name, handle, opts...)
		Must(t, err)
	}
	l.MustStart()
}

// needs returns the limits of a job, each with its key.
func (l *parkedLife) needs(j Job) (names []string) {
	for _, use := range l.uses {
		name, by, _ := strings.Cut(use, " by ")
		if by != "" {
			name += " " + customerKeys[by](j)
		}
		names = append(names, name)
	}
	return names
}

// handler returns what handles jobs in a life of the bus.
func (l *parkedLife) handler(of *Fixture, sub string) func(context.Context, runtime.Event[Job]) error {
	return func(ctx context.Context, e runtime.Event[Job]) error {
		if !l.enter(of, sub, e.Payload) {
			<-ctx.Done()
			return ctx.Err()
		}
		time.Sleep(time.Duration(1+e.Payload.Number%7) * time.Millisecond)
		return l.leave(of, sub, e.Payload)
	}
}

// enter notes that a handler is called, and whether that may be. It reports false if its process is dead.
func (l *parkedLife) enter(of *Fixture, sub string, j Job) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if of != l.Fixture {
		return false
	}
	now, state := time.Now(), l.jobs[parkedJob{sub, j.Number}]
	l.trace("%s begins %d of %s", sub, j.Number, j.Customer)
	l.gap, l.last = max(l.gap, now.Sub(l.last)), now
	switch {
	case state == nil:
		l.T.Errorf("%s has job %d, which was not published", sub, j.Number)
		return true
	case state.final:
		l.T.Errorf("%s has job %d of %s again, which was settled for good at %v", sub, j.Number, j.Customer, state.at)
	case l.paused[sub+" "+j.Customer] || l.paused[sub]:
		l.T.Errorf("%s has job %d of %s, and it is paused", sub, j.Number, j.Customer)
	}
	for other, s := range l.jobs {
		if other.sub != sub || other.number >= j.Number || s.Customer != j.Customer || !l.keyed || state.attempts > 0 || s.unsure {
			continue
		}
		if s.attempts == 0 && !s.ended || l.strict && !s.ended {
			l.T.Errorf("%s has job %d of %s before job %d", sub, j.Number, j.Customer, other.number)
			break
		}
	}
	state.attempts++
	for _, name := range l.needs(j) {
		limit := l.rules[strings.Fields(name)[0]]
		if limit.Rate > 0 {
			step := limit.Per / time.Duration(limit.Rate)
			next := laterOf(l.full[name], now).Add(step)
			if l.full[name] = next; next.Sub(now) > time.Duration(limit.Rate+1)*step {
				l.T.Errorf("%s has job %d too early for the rate of %s", sub, j.Number, name)
			}
			continue
		}
		if l.running[name]++; l.running[name] > limit.AtOnce {
			l.T.Errorf("%d run at once in %s, which has %d", l.running[name], name, limit.AtOnce)
		}
	}
	l.turnOf(sub, j)
	return true
}

func laterOf(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// turnOf notes that a key has its turn, which others of the subscription wait for.
func (l *parkedLife) turnOf(sub string, j Job) {
	who := sub + " " + l.turnKey(j)
	if w := l.waits[who]; w != nil {
		for _, n := range w.others {
			if l.most = max(l.most, n); n == l.most {
				l.trace("%s has waited for %d turns of another key", who, n)
			}
		}
		delete(l.waits, who)
	}
	for other, w := range l.waits {
		if strings.HasPrefix(other, sub+" ") {
			w.others[l.turnKey(j)]++
		}
	}
}

// leave notes that a handler has returned, and says how.
func (l *parkedLife) leave(of *Fixture, sub string, j Job) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if of != l.Fixture {
		return nil
	}
	state := l.jobs[parkedJob{sub, j.Number}]
	for _, name := range l.needs(j) {
		if l.rules[strings.Fields(name)[0]].Rate == 0 {
			l.running[name]--
		}
	}
	if state == nil {
		return nil
	}
	if l.trouble > 0 && j.Number%l.trouble == 3 && state.attempts < 4 {
		switch j.Number / l.trouble % 4 {
		case 0, 1:
			return ErrBoom
		case 2:
			return runtime.Snooze(50 * time.Millisecond)
		}
	}
	l.trace("%s has handled %d of %s", sub, j.Number, j.Customer)
	state.ended, state.at = true, time.Now()
	if l.trouble > 0 && j.Number%l.trouble == 5 {
		return runtime.Permanent(ErrBoom)
	}
	l.waitsAgain(sub, j)
	return nil
}

// turnKey is that of which one waits for another: of several the one that is shared by most jobs.
func (l *parkedLife) turnKey(j Job) string {
	if slices.Contains(l.uses, "group by group") {
		return groupOf(j)
	}
	return j.Customer
}

// waitsAgain notes that the key of a job waits for its turn, if it has jobs that have to begin.
func (l *parkedLife) waitsAgain(sub string, of Job) {
	key := l.turnKey(of)
	who := sub + " " + key
	for job, s := range l.jobs {
		if job.sub == sub && l.turnKey(s.Job) == key && s.attempts == 0 && !s.ended && !s.unsure && l.waits[who] == nil && !l.paused[who] && !l.paused[sub] {
			l.waits[who] = &keyTurn{others: map[string]int{}}
		}
	}
}

// publish publishes so many jobs, most of them of a few customers.
func (l *parkedLife) publish(n int) {
	l.T.Helper()
	skew := rand.NewZipf(l.Rand, 1.3, 2, uint64(1+l.IntN(30)))
	var page []Job
	l.mu.Lock()
	for range n {
		j := Job{fmt.Sprint("c", skew.Uint64()), len(l.ids) + len(page)}
		page = append(page, j)
		for _, sub := range l.subs {
			l.jobs[parkedJob{sub, j.Number}] = &jobState{Job: j}
		}
	}
	l.mu.Unlock()
	l.trace("publishes %d from %d on", n, len(l.ids))
	receipts, err := runtime.PublishBatch(l.T.Context(), l.Bus, l.of, page)
	Must(l.T, err)
	for _, r := range receipts {
		l.ids = append(l.ids, r.ID)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, sub := range l.subs {
		for _, j := range page {
			l.waitsAgain(sub, j)
		}
	}
}

// happen lets something happen.
func (l *parkedLife) happen(t *testing.T) {
	sub, customer := l.subs[l.IntN(len(l.subs))], fmt.Sprint("c", l.IntN(3))
	switch l.IntN(9) {
	case 0, 1:
		l.publish(1 + l.IntN(120))
	case 2, 3:
		l.kill(t)
	case 4:
		l.trace("closes")
		closed := l.Fixture
		l.Stop()
		l.settled(0)
		l.begin(t, closed.Path)
	case 5:
		if !l.keyed && !slices.Contains(l.uses, "customer by customer") && !l.breaks {
			return
		}
		l.trace("pauses %s of %s", customer, sub)
		Must(t, l.PauseKey(t.Context(), sub, customer, ""))
		l.pause(sub+" "+customer, true)
	case 6:
		l.trace("pauses %s", sub)
		Must(t, l.PauseSubscription(t.Context(), sub, ""))
		l.pause(sub, true)
	case 7:
		l.resume()
	case 8:
		l.cancel(l.IntN(len(l.ids)))
	}
}

// pause notes a pause, after the last handler that was called before it.
func (l *parkedLife) pause(who string, paused bool) {
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.paused[who] = paused; paused {
		for other := range l.waits {
			if other == who || strings.HasPrefix(other, who+" ") {
				delete(l.waits, other)
			}
		}
	}
}

// resume ends all pauses.
func (l *parkedLife) resume() {
	l.mu.Lock()
	var all []string
	for who, paused := range l.paused {
		if paused {
			all = append(all, who)
		}
	}
	clear(l.paused)
	l.mu.Unlock()
	slices.Sort(all)
	for _, who := range all {
		l.trace("resumes %s", who)
		if sub, customer, key := strings.Cut(who, " "); key {
			Must(l.T, l.ResumeKey(l.T.Context(), sub, customer))
		} else {
			Must(l.T, l.ResumeSubscription(l.T.Context(), sub))
		}
	}
}

// cancel cancels a job.
func (l *parkedLife) cancel(number int) {
	l.mu.Lock()
	l.trace("cancels %d", number)
	open := false
	for _, sub := range l.subs {
		s := l.jobs[parkedJob{sub, number}]
		s.unsure, open = true, open || !s.ended
		delete(l.waits, sub+" "+l.turnKey(s.Job)) // the key may have waited for this one
	}
	l.mu.Unlock()
	if !open {
		return
	}
	err := l.Cancel(l.T.Context(), l.ids[number])
	running, settled := (*event.BegunError)(nil), (*event.NotOpenError)(nil) // or its end was stored before a kill
	if !errors.As(err, &running) && !errors.As(err, &settled) {
		Must(l.T, err)
	}
}

// kill kills the process, and another one takes over.
func (l *parkedLife) kill(t *testing.T) {
	l.trace("is killed")
	l.kills++
	synctest.Wait()
	dead := l.Fixture
	l.settled(l.env.Unwritten)
	l.begin(t, dead.Killed())
}

// settled notes that what has ended is settled for good, but for what has ended within a time.
func (l *parkedLife) settled(within time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Fixture = nil
	clear(l.waits)
	for _, s := range l.jobs {
		switch {
		case !s.ended || s.final:
		case within == 0 || time.Since(s.at) > within:
			s.final = true
		default:
			s.ended, s.unsure = false, true
		}
	}
}

// live leads the life.
func (l *parkedLife) live(t *testing.T) {
	before := dispatch.Window
	dispatch.Window = l.window
	defer func() { dispatch.Window = before }()
	l.begin(t, l.env.Target(t))
	l.publish(50 + l.IntN(300))
	for range 3 + l.IntN(5) {
		time.Sleep(time.Duration(l.IntN(400)) * time.Millisecond)
		l.happen(t)
	}
	l.resume()
	l.mu.Lock()
	l.last, l.gap = time.Now(), 0
	l.mu.Unlock()
	l.Idle()
	l.mu.Lock()
	defer l.mu.Unlock()
	for job, s := range l.jobs {
		if !s.ended && !s.unsure {
			t.Errorf("job %d of %s was published, and %s has not handled it", job.number, s.Customer, job.sub)
		}
	}
	if l.most > l.mostTurns() {
		t.Errorf("a key has waited while another one had %d turns", l.most)
	}
	// Retries, snoozes and breakers take less, and the patrol of the waitlists comes every ten seconds.
	if gap := max(l.gap, time.Since(l.last)); gap > 3*time.Second {
		t.Errorf("for %v nothing was handled, and then something was", gap)
	}
}

// mostTurns returns how many turns another key may have while one waits: what fills the window, and what is handled
// until it is parked. It is without a bound if keys wait for a limit of all, for a rate, for a retry or for another
// subscription, and if the window is so small that what is in it has its turn before anything would be parked.
func (l *parkedLife) mostTurns() int {
	if l.window < 64 || l.breaks || l.trouble > 0 || len(l.subs) > 1 || slices.ContainsFunc(l.uses, func(use string) bool { return use == "all" || strings.HasPrefix(use, "pace") }) {
		return math.MaxInt
	}
	return l.window + 20*3
}

// Whatever waits for what, and whatever happens meanwhile: each job is handled once, in the order of its key, no limit
// is exceeded, each key has its turn, and nothing is stuck.
func (env *Env) TestParkedDeliveriesAreHandledOnceInTheOrderOfTheirKeys(t *testing.T) {
	var seeds []uint64
	if *parkedSeed == 0 {
		seeds = append(seeds, parkedFound[:]...)
	}
	for i := range uint64(parkedRounds.N()) {
		seeds = append(seeds, *parkedSeed+i)
	}
	for _, seed := range seeds {
		if t.Failed() {
			break // one seed is enough to begin with
		}
		synctest.Test(t, func(t *testing.T) {
			l := env.newParkedLife(t, seed)
			defer func() {
				if t.Failed() {
					t.Error(l.says)
				}
			}()
			l.live(t)
		})
	}
}
