package systest

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	. "github.com/busgen/busgen/runtime/internal/conformance"
)

// A file lives through a sequence of programs that is drawn from a seed: event types
// and subscriptions are renamed, back too, versions are raised, deployments are
// rolled back and crash, and some programs publish while another one dispatches.
// Beside the file stands a model of who has to handle what (programsmodel_test.go).
//
//	go test ./runtime/internal/systest -run TestNothingIsLostBetweenPrograms -programs.seed 4711 -v
//	go test ./runtime/internal/systest -run TestNothingIsLostBetweenPrograms -programs.rounds 2000 -timeout 1h
var (
	programsSeed   = flag.Uint64("programs.seed", 0, "run the test of programs with this seed only")
	programsRounds = short.Flag("programs.rounds", 10, 2, "how many seeds the test of programs runs")
)

func TestNothingIsLostBetweenPrograms(t *testing.T) {
	short.Visit(t, "it runs processes, or fills files")
	first, rounds := uint64(1), programsRounds.N()
	if *programsSeed != 0 {
		first, rounds = *programsSeed, 1
	}
	for seed := first; seed < first+uint64(rounds) && !t.Failed(); seed++ {
		synctest.Test(t, func(t *testing.T) {
			e := newEra(t, seed)
			for range 4 + e.IntN(6) {
				e.program()
			}
			e.finish()
			if t.Failed() {
				t.Logf("this was seed %d", seed)
			}
		})
	}
}

// The payloads of three versions.
type (
	relic1 struct {
		N int `json:"n"`
	}
	relic2 struct {
		Num int `json:"num"`
	}
	relic3 struct {
		Number int    `json:"number"`
		From   string `json:"from"`
	}
)

func (relic1) Validate() error { return nil }

func (relic2) Validate() error { return nil }

func (relic3) Validate() error { return nil }

var relicSteps = []runtime.Upcast{
	runtime.UpcastFrom(1, func(old relic1) (relic2, error) { return relic2{old.N}, nil }),
	runtime.UpcastFrom(2, func(old relic2) (relic3, error) { return relic3{old.Num, "old"}, nil }),
}

// relicType is an event type of any version.
type relicType struct {
	runtime.Definition
	publish func(ctx context.Context, bus *runtime.Bus, numbers []int, opts ...runtime.PublishOption) ([]*runtime.Receipt, error)
	handle  func(bus *runtime.Bus, name string, handler func(ctx context.Context, e relicSeen) error, opts ...runtime.SubscribeOption) error
	bury    func(bus *runtime.Bus, name string, handler func(number int, subscription, reason string), opts ...runtime.SubscribeOption) error
}

// relicSeen is an event as a handler sees it.
type relicSeen struct {
	typ, subscription        string
	version, number, attempt int
}

func relicOf[T runtime.Payload](spec runtime.Spec[T], of func(int) T, number func(T) int) relicType {
	defined := runtime.Define(spec)
	r := relicType{Definition: defined}
	r.publish = func(ctx context.Context, bus *runtime.Bus, numbers []int, opts ...runtime.PublishOption) ([]*runtime.Receipt, error) {
		var payloads []T
		for _, n := range numbers {
			payloads = append(payloads, of(n))
		}
		if len(payloads) == 1 {
			receipt, err := runtime.Publish(ctx, bus, defined, payloads[0], opts...)
			return []*runtime.Receipt{receipt}, err
		}
		return runtime.PublishBatch(ctx, bus, defined, payloads, opts...)
	}
	r.handle = func(bus *runtime.Bus, name string, handler func(context.Context, relicSeen) error, opts ...runtime.SubscribeOption) error {
		_, err := runtime.Subscribe(bus, defined, name, func(ctx context.Context, e runtime.Event[T]) error {
			return handler(ctx, relicSeen{e.Type, e.Subscription, e.Version, number(e.Payload), e.Attempt})
		}, opts...)
		return err
	}
	r.bury = func(bus *runtime.Bus, name string, handler func(int, string, string), opts ...runtime.SubscribeOption) error {
		_, err := runtime.SubscribeDead(bus, defined, name, func(_ context.Context, e runtime.Event[runtime.DeadLetter[T]]) error {
			n, _ := rawRelic(e.Payload.Raw)
			if read := number(e.Payload.Event.Payload); e.Payload.Event.Type != spec.Name || read != n && e.Payload.Undecodable == nil {
				n = -1 // which no event has
			}
			handler(n, e.Payload.Event.Subscription, e.Payload.Reason)
			return nil
		}, opts...)
		return err
	}
	return r
}

// relic returns a type as a program has it.
func relic(s nameSpec, declared []declare.Subscription) relicType {
	switch s.version {
	case 1:
		return relicOf(runtime.Spec[relic1]{Name: s.name, Aliases: s.aliases, Settings: BillSettings, Subscriptions: declared},
			func(n int) relic1 { return relic1{n} }, func(p relic1) int { return p.N })
	case 2:
		return relicOf(runtime.Spec[relic2]{Name: s.name, Aliases: s.aliases, Settings: BillSettings, Subscriptions: declared,
			Version: 2, Upcasts: relicSteps[:1]}, func(n int) relic2 { return relic2{n} }, func(p relic2) int { return p.Num })
	}
	return relicOf(runtime.Spec[relic3]{Name: s.name, Aliases: s.aliases, Settings: BillSettings, Subscriptions: declared,
		Version: 3, Upcasts: relicSteps}, func(n int) relic3 { return relic3{n, "new"} }, func(p relic3) int { return p.Number })
}

// deployed is a program that has the file open.
type deployed struct {
	*Fixture
	era    *era
	things map[*thing]relicType
	specs  map[*thing]nameSpec
	names  map[*recipient]string // of those that it handles
	life   int                   // the crash that ends it has a higher number
}

// deploy opens the file with a catalogue that is drawn, or with the newest of all.
func (e *era) deploy(newest bool) *deployed {
	d := &deployed{era: e, things: map[*thing]relicType{}, specs: map[*thing]nameSpec{}, names: map[*recipient]string{}, life: e.life}
	var types []runtime.Definition
	recipients := map[*recipient]nameSpec{}
	for _, one := range e.things {
		if !newest && e.IntN(6) == 0 && len(types) > 0 {
			continue // the program does not have it
		}
		spec := one.next(e, newest)
		var declared []declare.Subscription
		for _, r := range e.recipients {
			if r.thing != one || !newest && e.IntN(5) == 0 {
				continue
			}
			recipients[r] = r.next(e, newest)
			if r.kind == isDeclared {
				declared = append(declared, declare.Subscription{Name: recipients[r].name, Aliases: recipients[r].aliases, Settings: BillSettings})
			}
		}
		d.specs[one], d.things[one] = spec, relic(spec, declared)
		types = append(types, d.things[one])
		e.tracef("has %s version %d, formerly %v; %v", spec.name, spec.version, spec.aliases, declared)
	}
	d.Fixture = SQLite.ReopenWith(e.T, e.path, runtime.NewCatalogue(types...))
	for _, r := range e.recipients {
		spec, has := recipients[r]
		if r.thing == nil && d.covers(r.pattern) && (newest || e.IntN(3) > 0) {
			spec, has = r.next(e, newest), true
		}
		if has {
			d.subscribe(r, spec)
		}
	}
	return d
}

// covers tells whether a pattern is for a type of the program's catalogue.
func (d *deployed) covers(pattern string) bool {
	for _, spec := range d.specs {
		if (&named{specs: []nameSpec{spec}}).matches(pattern, 0) {
			return true
		}
	}
	return false
}

// subscribe gives a recipient its handlers.
func (d *deployed) subscribe(r *recipient, spec nameSpec) {
	e, opts := d.era, []runtime.SubscribeOption{}
	if r.kind != isDeclared && r.kind != isGroup && len(spec.aliases) > 0 {
		opts = append(opts, runtime.WithAliases(spec.aliases...))
	}
	handler := func(ctx context.Context, seen relicSeen) error { return e.handle(ctx, d, r, spec.name, seen) }
	var err error
	switch r.kind {
	case isDeclared, isOptional:
		err = d.things[r.thing].handle(d.Bus, spec.name, handler, opts...)
	case isGroup:
		in := runtime.InGroup(spec.name, spec.aliases...)
		first := fmt.Sprint("first of ", r.id)
		err = d.things[r.thing].handle(d.Bus, first, func(_ context.Context, seen relicSeen) error {
			e.first(r, seen.number)
			return nil
		}, in)
		if err == nil {
			second := fmt.Sprint("second of ", r.id)
			err = d.things[r.thing].handle(d.Bus, second, func(ctx context.Context, seen relicSeen) error {
				seen.subscription = spec.name
				return e.handle(ctx, d, r, spec.name, seen)
			}, in)
		}
	case isGlob:
		_, err = runtime.SubscribePattern(d.Bus, r.pattern, spec.name, func(ctx context.Context, event runtime.Event[runtime.Raw]) error {
			number, stored := rawRelic(event.Payload)
			if stored != event.Version {
				e.Errorf("%s as version %d", event.Payload, event.Version)
			}
			return e.handle(ctx, d, r, spec.name, relicSeen{event.Type, event.Subscription, event.Version, number, event.Attempt})
		}, opts...)
	case isMorgue:
		err = d.things[r.thing].bury(d.Bus, spec.name, func(number int, of, reason string) { e.told(r, number, of, reason) }, opts...)
	}
	Must(e.T, err)
	e.tracef("handles %s, formerly %v (%v)", spec.name, spec.aliases, r)
	e.mu.Lock()
	defer e.mu.Unlock()
	r.exists, d.names[r] = true, spec.name
}

// rawRelic reads a payload of any version, and says of which.
func rawRelic(payload []byte) (number, version int) {
	var fields map[string]any
	if json.Unmarshal(payload, &fields) != nil {
		return 0, 0
	}
	for i, field := range []string{"n", "num", "number"} {
		if n, ok := fields[field].(float64); ok {
			return int(n), i + 1
		}
	}
	return 0, 0
}

// program deploys something, lets it live for a while, and ends it.
func (e *era) program() {
	e.tracef("--- a program")
	d := e.deploy(false)
	d.work()
	if e.IntN(5) > 0 {
		d.MustStart()
		d.work()
		if e.IntN(3) == 0 {
			e.tracef("--- beside it")
			other := e.deploy(false)
			other.work()
			other.Stop()
			e.tracef("--- it has ended")
		}
		d.work()
		time.Sleep(time.Duration(e.IntN(3)) * time.Second)
	}
	if e.IntN(3) == 0 {
		e.crash(d)
	}
	d.Stop()
	if e.IntN(6) == 0 {
		time.Sleep(25 * time.Hour)
	}
}

// crash goes on with what a process leaves that is killed.
func (e *era) crash(d *deployed) {
	e.tracef("it crashes")
	synctest.Wait()
	path := filepath.Join(e.TempDir(), "events.db")
	for _, suffix := range []string{"", "-wal", "-claims"} {
		content, err := os.ReadFile(e.path + suffix)
		if err != nil && suffix != "" {
			continue
		}
		Must(e.T, err)
		Must(e.T, os.WriteFile(path+suffix, content, 0o600))
	}
	e.path = path
	e.crashed()
}

// work publishes in all ways, and pauses something now and then.
func (d *deployed) work() {
	e := d.era
	for range 1 + e.IntN(3) {
		one := slices.Collect(maps.Keys(d.things))
		slices.SortFunc(one, func(a, b *thing) int { return a.id - b.id })
		t := one[e.IntN(len(one))]
		var opts []runtime.PublishOption
		switch e.IntN(8) {
		case 0:
			d.publish(t, 1+e.IntN(3), append(opts, runtime.WithDelay(time.Duration(e.IntN(90))*time.Minute))...)
		case 1, 2:
			d.publishKeyed(t)
		case 3:
			Must(e.T, d.PauseTypes(e.Context(), d.specs[t].name, ""))
		case 4:
			for _, r := range e.recipients {
				if name := d.names[r]; name != "" && e.IntN(3) == 0 {
					Must(e.T, d.PauseSubscription(e.Context(), name, ""))
				}
			}
		case 5:
			d.resume()
		default:
			d.publish(t, 1+e.IntN(3))
		}
		time.Sleep(time.Duration(e.IntN(400)) * time.Millisecond)
	}
}

// resume ends all pauses, by the names that this program knows.
func (d *deployed) resume() {
	pauses, err := d.Pauses(d.era.Context())
	Must(d.T, err)
	for _, p := range pauses {
		if p.Types != "" {
			Must(d.T, d.ResumeTypes(d.era.Context(), p.Types))
		} else {
			Must(d.T, d.ResumeSubscription(d.era.Context(), p.Subscription))
		}
	}
}

// finish runs the newest of all programs, retries what could not be read by older
// ones, and compares.
func (e *era) finish() {
	e.tracef("--- the last program")
	d := e.deploy(true)
	d.MustStart()
	d.resume()
	wait := func() {
		ctx, cancel := context.WithTimeout(e.Context(), 100*time.Hour)
		defer cancel()
		if err := d.WaitIdle(ctx); err != nil {
			lag, _ := d.Lag(e.Context())
			e.Fatalf("the bus does not come to rest: %v; %+v", err, lag)
		}
	}
	wait()
	inspector, err := inspect.Open(e.Context(), e.path)
	Must(e.T, err)
	defer inspector.Close()
	_, err = inspector.Retry(e.Context(), inspect.Selection{Filter: event.Filter{Reasons: []string{"decode"}}})
	Must(e.T, err)
	wait()
	letters, _, err := inspector.DeadLetters(e.Context(), event.Filter{}, event.Page{Limit: 1000})
	Must(e.T, err)
	e.compare(d, letters)
	d.Stop()
	SQLite.RequireSound(e.T, e.path)
}

func (e *era) tracef(format string, args ...any) {
	if *programsSeed != 0 {
		e.Logf(time.Now().Format("15:04:05.000 ")+format, args...)
	}
}

// era is the life of a file.
type era struct {
	*testing.T
	*rand.Rand
	path string
	eraModel
}

func newEra(t *testing.T, seed uint64) *era {
	e := &era{T: t, Rand: rand.New(rand.NewPCG(seed, 7)), path: filepath.Join(t.TempDir(), "events.db")}
	e.eraModel.init(e)
	return e
}

// nameSpec is the name that a program uses for something.
type nameSpec struct {
	name    string
	aliases []string
	version int
	since   time.Time // when the first program had it
}

// named is something that is renamed over time.
type named struct {
	fresh func() string // another name
	specs []nameSpec    // all that were deployed
}

// next draws the name that a program uses: that of the newest program, of an older one, or a new name.
func (n *named) next(e *era, newest bool) nameSpec {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case len(n.specs) == 0:
		n.specs = append(n.specs, nameSpec{n.fresh(), nil, 1, time.Now()})
	case newest || e.IntN(5) < 2:
	case e.IntN(5) < 2:
		return n.specs[e.IntN(len(n.specs))]
	default:
		last := n.specs[len(n.specs)-1]
		spec := nameSpec{last.name, last.aliases, min(3, last.version+e.IntN(2)), time.Now()}
		if e.IntN(3) > 0 {
			if spec.name = n.fresh(); e.IntN(3) == 0 {
				spec.name = n.specs[e.IntN(len(n.specs))].name
			}
			spec.aliases = nil
			for _, one := range n.names() {
				if one != spec.name && (one == last.name || last.name == spec.name || e.IntN(2) == 0) {
					spec.aliases = append(spec.aliases, one)
				}
			}
		}
		n.specs = append(n.specs, spec)
	}
	return n.specs[len(n.specs)-1]
}

// names lists all names that it ever had.
func (n *named) names() (names []string) {
	for _, spec := range n.specs {
		if !slices.Contains(names, spec.name) {
			names = append(names, spec.name)
		}
	}
	return names
}

// matches tells whether a pattern is for any of the names that it had some time ago.
func (n *named) matches(pattern string, ago time.Duration) bool {
	prefix := strings.TrimSuffix(pattern, "*")
	return slices.ContainsFunc(n.specs, func(s nameSpec) bool {
		return (prefix == "" || time.Since(s.since) >= ago) && strings.HasPrefix(s.name, prefix)
	})
}
