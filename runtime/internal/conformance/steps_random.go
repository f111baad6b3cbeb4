package conformance

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/step"
)

// A seed draws a program of steps, sleeps and waits for events, which orders go through. Steps fail, handlers fail, the process is
// closed or killed, parcels are published by it, by others and while there is none, and the next deploy has other steps: in
// another order, some new, some renamed, some removed. A model beside it knows what each order has done, and which parcel each
// step has to get. Time is virtual.
//
//	go test ./runtime -run Conformance/TestRandomProgramsOfStepsGoOn -steps.seed 4711 -steps.rounds 1 -v
//	go test ./runtime -run Conformance/TestRandomProgramsOfStepsGoOn -steps.rounds 10000 -timeout 5h
var (
	stepsSeed   = flag.Uint64("steps.seed", 1, "the first seed of random programs of steps")
	stepsRounds = short.Flag("steps.rounds", 40, 12, "how many seeds of random programs of steps are tried")
)

// promptly is how soon an order goes on whose time has come, or whose event.
const promptly = 5 * time.Second

// stepsLife is a bus whose handler has a random program, and what the model knows of its orders.
type stepsLife struct {
	*Fixture
	*rand.Rand
	t     *testing.T
	env   *Env
	seed  uint64
	trace func(string, ...any)

	mu      sync.Mutex
	program []stepOp // as it is deployed
	removed []stepOp
	ops     int // how many there have been
	orders  []*stepsOrder
	parcels []stepsParcel // as they are in the log
	began   time.Time     // this life
	kills   int
}

// stepOp is a step of the program.
type stepOp struct {
	id     int // stays, whatever it is called
	kind   string
	name   string
	former []string
	within time.Duration
	shared bool // it waits for parcels of all orders
	scans  bool // it waits for parcels that are scanned
	lost   bool // it waits for parcels that are lost
}

// stepsParcel is a parcel in the log; its code is its place.
type stepsParcel struct {
	key  string
	lost bool
	at   time.Time
}

// stepsOrder is what the model knows of an order.
type stepsOrder struct {
	number   int
	behind   int // how many parcels are before it in the log
	attempts int
	handled  bool
	steps    map[int]*stepsDone // by id
	wants    *stepOp            // what it waits for
	until    time.Time          // when that ends at the latest; zero if it does not wait
	owed     time.Time          // since when an event is there that it waits for
}

// stepsDone is what the model knows of a step of an order.
type stepsDone struct {
	stepOp
	begun  int
	done   bool // it has returned
	parcel int  // which one it has got
	none   bool // none has come in time
	first  time.Time
	until  time.Time // when its wait ends at the latest
	unsure bool      // it was called in a process that was killed
}

func (env *Env) newStepsLife(t *testing.T, seed uint64) *stepsLife {
	l := &stepsLife{t: t, Rand: rand.New(rand.NewPCG(seed, 45)), env: env, seed: seed, trace: func(string, ...any) {}}
	if stepsRounds.N() == 1 {
		l.trace = func(format string, args ...any) { t.Logf(time.Now().Format("15:04:05.000 ")+format, args...) }
	}
	for range 2 + l.IntN(6) {
		l.insert()
	}
	return l
}

// insert puts a new step into the program.
func (l *stepsLife) insert() {
	l.ops++
	op := stepOp{id: l.ops, name: fmt.Sprint("step ", l.ops), kind: []string{"do", "do", "tx", "sleep", "await", "await", "any"}[l.IntN(7)]}
	op.within = []time.Duration{0, 30 * time.Millisecond, time.Second, 10 * time.Second, 40 * time.Second}[l.IntN(5)]
	op.shared = l.IntN(3) == 0
	op.lost = op.kind == "any" || op.kind == "await" && l.IntN(2) == 0
	op.scans = !op.lost || op.kind == "any"
	l.program = slices.Insert(l.program, l.IntN(len(l.program)+1), op)
}

// deploy changes the program. Attempts that run go on with the old one.
func (l *stepsLife) deploy() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.program = slices.Clone(l.program)
	switch l.IntN(5) {
	case 0:
		l.Shuffle(len(l.program), func(i, j int) { l.program[i], l.program[j] = l.program[j], l.program[i] })
	case 1:
		l.insert()
	case 2:
		for i := range l.program {
			if op := &l.program[i]; l.IntN(2) == 0 && op.kind != "sleep" && op.kind != "any" { // which have no Was
				op.former = append(slices.Clone(op.former), op.name)
				op.name = fmt.Sprintf("step %d, renamed %d times", op.id, len(op.former))
			}
		}
	case 3:
		if len(l.program) > 0 {
			i := l.IntN(len(l.program))
			l.removed = append(l.removed, l.program[i])
			l.program = slices.Delete(l.program, i, i+1)
		}
	case 4: // a rollback
		if len(l.removed) > 0 {
			l.program = append(l.program, l.removed[len(l.removed)-1])
			l.removed = l.removed[:len(l.removed)-1]
		}
	}
	l.trace("the program is %+v", l.program)
}

// begin opens the bus.
func (l *stepsLife) begin(target string) {
	l.t.Helper()
	f := l.env.openParcels(l.t, target)
	Must(l.t, runtime.Transact(l.t.Context(), f.Bus, func(tx runtime.Tx) error {
		_, err := tx.ExecContext(l.t.Context(), "CREATE TABLE IF NOT EXISTS effect (number INTEGER, step INTEGER)")
		return err
	}))
	l.mu.Lock()
	l.Fixture, l.began = f, time.Now()
	l.mu.Unlock()
	f.Handle("fulfil", l.handler(f), steadily(1000), unbroken, runtime.WithConcurrency(1+l.IntN(8)), runtime.FromBeginning())
	f.MustStart()
}

// alive runs f with the model, and reports false instead if the process is dead.
func (l *stepsLife) alive(of *Fixture, f func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if of != l.Fixture {
		return false
	}
	f()
	return true
}

// chance says yes once in so many times, in the same way whenever it is asked about the same.
func (l *stepsLife) chance(odds int, about ...int) bool {
	h := l.seed
	for _, n := range about {
		h = rand.NewPCG(h, uint64(n)).Uint64()
	}
	return h%uint64(odds) == 0
}

// handler is the program, in a life of the bus.
func (l *stepsLife) handler(of *Fixture) func(context.Context, runtime.Event[OrderPlaced]) error {
	return func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
		var o *stepsOrder
		var program []stepOp
		fails := false
		alive := l.alive(of, func() {
			o, program = l.orders[e.Payload.Number], l.program
			for what, since := range map[string]time.Time{"its event was stored": o.owed, "its time has come": o.until} {
				if late := time.Since(laterOf(since, l.began)); !since.IsZero() && late > promptly {
					l.t.Errorf("order %d goes on %v after %s", o.number, late, what)
				}
			}
			o.wants, o.owed, o.until = nil, time.Time{}, time.Time{}
			o.attempts++
			fails = l.chance(5, 1, o.number, o.attempts)
			l.trace("order %d: attempt %d", o.number, o.attempts)
		})
		if !alive {
			<-ctx.Done()
			return ctx.Err()
		}
		for _, op := range program {
			if err := l.run(ctx, of, o, op); err != nil {
				l.trace("order %d: %s: %v", o.number, op.name, err)
				return err
			}
		}
		if fails {
			return ErrBoom
		}
		l.alive(of, func() { o.handled = true; l.trace("order %d is handled", o.number) })
		return nil
	}
}

// run does a step.
func (l *stepsLife) run(ctx context.Context, of *Fixture, o *stepsOrder, op stepOp) error {
	var s *stepsDone
	called := l.alive(of, func() {
		if s = o.steps[op.id]; s == nil {
			s = &stepsDone{stepOp: op, first: time.Now()}
			o.steps[op.id] = s
		}
		s.unsure = true
	})
	if !called {
		return context.Canceled
	}
	var opts []step.Option
	for _, name := range op.former {
		opts = append(opts, step.Was(name))
	}
	parcel := -1
	var err error
	switch op.kind {
	case "do":
		var got int
		got, err = step.Do(ctx, op.name, func(ctx context.Context) (int, error) { return op.id, l.effect(ctx, of, o, s) }, opts...)
		if err == nil && got != op.id {
			l.t.Errorf("%s returns %d", op.name, got)
		}
	case "tx":
		_, err = step.Tx(ctx, op.name, func(ctx context.Context, tx runtime.Tx) (int, error) {
			if _, err := tx.ExecContext(ctx, "INSERT INTO effect VALUES (?, ?)", o.number, op.id); err != nil {
				return 0, err
			}
			return op.id, l.effect(ctx, of, o, s)
		}, opts...)
	case "sleep":
		err = step.Sleep(ctx, op.name, op.within)
	case "await":
		if op.lost {
			var got runtime.Event[Lost]
			got, err = step.Await(ctx, op.name, LostType, o.key(&op), op.within, opts...)
			parcel = got.Payload.Code
		} else {
			var got runtime.Event[Scanned]
			got, err = step.Await(ctx, op.name, ScannedType, o.key(&op), op.within, opts...)
			parcel = got.Payload.Code
		}
	case "any":
		var got runtime.Event[any]
		got, err = step.AwaitAny(ctx, op.name, op.within, step.Of(ScannedType, o.key(&op)), step.Of(LostType, o.key(&op)))
		switch payload := got.Payload.(type) {
		case Scanned:
			parcel = payload.Code
		case Lost:
			parcel = payload.Code
		}
	}
	if !l.alive(of, func() { err = l.returned(o, s, op, parcel, err) }) {
		return context.Canceled
	}
	return err
}

// effect is what a step does outside.
func (l *stepsLife) effect(ctx context.Context, of *Fixture, o *stepsOrder, s *stepsDone) error {
	n := 0
	alive := l.alive(of, func() {
		if s.begun++; s.done {
			l.t.Errorf("order %d: %s was done, and begins again", o.number, s.name)
		}
		n = s.begun
	})
	if !alive {
		return context.Canceled
	}
	if s.kind == "do" {
		time.Sleep(time.Duration(s.id%7) * time.Millisecond)
	}
	switch {
	case l.chance(4, 2, o.number, s.id, n):
		return ErrBoom
	case l.chance(15, 3, o.number, s.id, n):
		panic("boom")
	}
	return nil
}

func (o *stepsOrder) key(op *stepOp) string {
	if op.shared {
		return "all"
	}
	return fmt.Sprint(o.number)
}

// returned notes what a step has returned, and checks it.
func (l *stepsLife) returned(o *stepsOrder, s *stepsDone, op stepOp, parcel int, err error) error {
	s.unsure = false
	waits := op.kind == "sleep" || op.kind == "await" || op.kind == "any"
	switch {
	case errors.Is(err, step.ErrSuspended) && waits:
		if s.done {
			l.t.Errorf("order %d: %s has returned, and waits again", o.number, op.name)
		}
		if s.until.IsZero() {
			s.until = time.Now().Add(op.within)
		}
		o.until = s.until
		if op.kind != "sleep" {
			o.wants = &s.stepOp
			if len(l.left(o, s, len(l.parcels))) > 0 { // it came just now
				o.owed = time.Now()
			}
		}
		return err
	case errors.Is(err, step.ErrNoEvent) && waits:
		early := s.first.Add(op.within)
		if s.parcel >= 0 && s.done && !s.none {
			l.t.Errorf("order %d: %s has got parcel %d, and now none", o.number, op.name, s.parcel)
		}
		if time.Now().Before(early) {
			l.t.Errorf("order %d: %s says that none has come before its time is over", o.number, op.name)
		}
		missed := l.left(o, s, len(l.parcels))
		missed = slices.DeleteFunc(missed, func(i int) bool { return !l.parcels[i].at.Before(early) })
		if !s.none && len(missed) > l.unsure(o, s) {
			l.t.Errorf("order %d: %s says that none has come in time, and there are %v", o.number, op.name, missed)
		}
		s.done, s.none = true, true
		return nil
	case err != nil:
		return err
	case op.kind == "sleep":
		if time.Now().Before(s.first.Add(op.within)) {
			l.t.Errorf("order %d: %s ends too early", o.number, op.name)
		}
	case waits:
		l.got(o, s, parcel)
	}
	s.done = true
	return nil
}

// got checks the parcel that a step has got.
func (l *stepsLife) got(o *stepsOrder, s *stepsDone, parcel int) {
	switch {
	case s.done && (s.none || s.parcel != parcel):
		l.t.Errorf("order %d: %s has got parcel %d (none: %v), and now parcel %d", o.number, s.name, s.parcel, s.none, parcel)
	case s.done:
	case !slices.Contains(l.left(o, s, parcel+1), parcel):
		l.t.Errorf("order %d: %s gets parcel %d, which is not for it", o.number, s.name, parcel)
	default:
		if skipped := l.left(o, s, parcel); len(skipped) > l.unsure(o, s) {
			l.t.Errorf("order %d: %s gets parcel %d, and before it there are %v", o.number, s.name, parcel, skipped)
		}
	}
	s.parcel = parcel
}

// left returns the first so many parcels that a step may get.
func (l *stepsLife) left(o *stepsOrder, s *stepsDone, end int) (all []int) {
	for i := o.behind; i < end; i++ {
		p, free := l.parcels[i], true
		for id, other := range o.steps {
			if id != s.id && other.done && !other.none && other.parcel == i && (other.kind == "await" || other.kind == "any") {
				free = false
			}
		}
		if free && p.key == o.key(&s.stepOp) && (p.lost && s.lost || !p.lost && s.scans) {
			all = append(all, i)
		}
	}
	return all
}

// unsure returns how many other steps may have got a parcel in a process that was killed before they had returned.
func (l *stepsLife) unsure(o *stepsOrder, s *stepsDone) (n int) {
	for id, other := range o.steps {
		if id != s.id && other.unsure {
			n++
		}
	}
	return n
}

// order publishes an order.
func (l *stepsLife) order(by *Fixture) {
	l.mu.Lock()
	o := &stepsOrder{number: len(l.orders), behind: len(l.parcels), steps: map[int]*stepsDone{}}
	l.orders = append(l.orders, o)
	l.mu.Unlock()
	by.Publish(o.number)
}

// parcel publishes a parcel, some of them delayed.
func (l *stepsLife) parcel(by *Fixture) {
	p := stepsParcel{key: "all", lost: l.IntN(2) == 0, at: time.Now()}
	if l.IntN(3) > 0 && len(l.orders) > 0 {
		p.key = fmt.Sprint(l.IntN(len(l.orders)))
	}
	l.mu.Lock()
	code := len(l.parcels)
	l.parcels = append(l.parcels, p)
	for _, o := range l.orders {
		if o.wants != nil && o.owed.IsZero() && slices.Contains(l.left(o, o.steps[o.wants.id], code+1), code) {
			o.owed = p.at
		}
	}
	l.mu.Unlock()
	l.trace("parcel %d: %+v", code, p)
	var opts []runtime.PublishOption
	if l.IntN(4) == 0 {
		opts = append(opts, runtime.WithDelay(time.Duration(l.IntN(100))*time.Second))
	}
	var err error
	if p.lost {
		_, err = runtime.Publish(l.t.Context(), by.Bus, LostType, Lost{p.key, code}, opts...)
	} else {
		_, err = runtime.Publish(l.t.Context(), by.Bus, ScannedType, Scanned{p.key, code}, opts...)
	}
	Must(l.t, err)
}

// leave ends the process, and returns what it leaves.
func (l *stepsLife) leave(kill bool) (target string) {
	synctest.Wait()
	of := l.Fixture
	l.trace("ends, killed %v", kill)
	if !kill {
		l.Stop()
		target = of.Path
	}
	l.mu.Lock()
	l.Fixture = &Fixture{T: of.T, Env: of.Env}
	l.mu.Unlock()
	if kill {
		l.kills++
		target = of.Killed()
	}
	return target
}

// happen lets something happen.
func (l *stepsLife) happen() {
	switch l.IntN(9) {
	case 0, 1:
		for range 1 + l.IntN(4) {
			l.order(l.Fixture)
		}
	case 2, 3:
		for range 1 + l.IntN(6) {
			l.parcel(l.Fixture)
		}
	case 4: // another process publishes
		other := l.env.openParcels(l.t, l.Path)
		for range 1 + l.IntN(4) {
			l.parcel(other)
			if l.IntN(4) == 0 {
				l.order(other)
			}
		}
		Must(l.t, other.Shutdown(l.t.Context()))
	case 5, 6:
		l.deploy()
	default:
		target := l.leave(l.IntN(3) > 0)
		if l.IntN(2) == 0 {
			l.deploy()
		}
		if l.IntN(2) == 0 {
			time.Sleep(time.Duration(l.IntN(20)) * time.Second)
			other := l.env.openParcels(l.t, target)
			l.parcel(other)
			Must(l.t, other.Shutdown(l.t.Context()))
		}
		l.begin(target)
	}
}

// live leads the life.
func (l *stepsLife) live(t *testing.T) {
	l.Fixture = &Fixture{T: t, Env: l.env}
	l.begin(l.env.Target(t))
	for range 1 + l.IntN(6) {
		l.order(l.Fixture)
	}
	for range 8 + l.IntN(12) {
		switch l.IntN(4) {
		case 0: // at once
		case 1:
			time.Sleep(time.Duration(l.IntN(40)) * time.Millisecond)
		default:
			time.Sleep(time.Duration(l.IntN(8000)) * time.Millisecond)
		}
		l.happen()
	}
	l.Idle()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, o := range l.orders {
		if !o.handled {
			t.Errorf("order %d is not handled", o.number)
		}
	}
	l.rows(t)
	l.env.wantDone(t, l.Path)
}

// rows checks what transactions have left.
func (l *stepsLife) rows(t *testing.T) {
	rows, err := runtime.DB(l.Bus).QueryContext(t.Context(), "SELECT number, step, count(*) FROM effect GROUP BY number, step")
	Must(t, err)
	defer rows.Close()
	found := map[[2]int]bool{}
	for rows.Next() {
		var number, id, n int
		Must(t, rows.Scan(&number, &id, &n))
		if found[[2]int{number, id}] = true; n != 1 {
			t.Errorf("order %d: step %d has left %d rows", number, id, n)
		}
	}
	Must(t, rows.Err())
	for _, o := range l.orders {
		for id, s := range o.steps {
			if s.kind == "tx" && s.done && !found[[2]int{o.number, id}] {
				t.Errorf("order %d: %s was done, and its row is not there", o.number, s.name)
			}
		}
	}
}

// Whatever the program is, whatever fails, and whatever the next deploy has of it: nothing that was done begins again, rows of
// transactions are there once, no wait misses an event, and nothing is stuck.
func (env *Env) TestRandomProgramsOfStepsGoOn(t *testing.T) {
	if !env.Steps {
		t.Skip("the engine stores no steps")
	}
	orders, kills, parcels := 0, 0, 0
	for i := range uint64(stepsRounds.N()) {
		if t.Failed() {
			break // one seed is enough to begin with
		}
		synctest.Test(t, func(t *testing.T) {
			l := env.newStepsLife(t, *stepsSeed+i)
			defer func() {
				if t.Failed() {
					t.Errorf("seed %d, the program at last: %+v", l.seed, l.program)
				}
				orders, kills, parcels = orders+len(l.orders), kills+l.kills, parcels+len(l.parcels)
			}()
			l.live(t)
		})
	}
	t.Logf("%d orders, %d parcels, %d kills", orders, parcels, kills)
}
