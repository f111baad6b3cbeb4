package breaker_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/busgen/busgen/runtime/breaker"
)

// model is a breaker without counters: it keeps every outcome, and with it the
// step of the window to which it belongs. Times are counted from noon.
type model struct {
	policy   breaker.Policy
	now      time.Duration // the newest reading
	grid     time.Duration // where a step begins
	state    breaker.State
	since    time.Duration
	until    time.Duration
	outcomes []outcome
	last     string
	era      int // how often the state has changed
	probe    *modelPermit
	told     []breaker.State
}

type outcome struct {
	work    int64
	stepEnd time.Duration
	failed  bool
}

type modelPermit struct {
	breaker.Permit
	work  int64
	era   int
	ended bool
}

func (m *model) step() time.Duration { return m.policy.Window / 60 }

// stepEnd is when the step ends that is under way.
func (m *model) stepEnd() time.Duration {
	return m.grid + ((m.now-m.grid)/m.step()+1)*m.step()
}

// forgotten is when an outcome leaves the window.
func (m *model) forgotten(o outcome) time.Duration { return o.stepEnd + 59*m.step() }

func (m *model) forget() {
	m.outcomes = slices.DeleteFunc(m.outcomes, func(o outcome) bool { return m.now >= m.forgotten(o) })
}

func (m *model) pass(now time.Duration) {
	m.now = max(m.now, now)
	m.forget()
}

func (m *model) change(to breaker.State) {
	if m.state == breaker.Closed {
		m.since = m.now
	}
	m.state, m.probe = to, nil
	m.era++
	m.told = append(m.told, to)
	switch to {
	case breaker.Closed:
		m.outcomes, m.last = nil, ""
	case breaker.Open:
		m.until = m.now + m.policy.OpenFor
	}
}

// acquire returns the permit that the breaker should give, or nil.
func (m *model) acquire(now time.Duration, work int64) *modelPermit {
	m.pass(now)
	if m.state == breaker.Open && m.now >= m.until {
		m.change(breaker.HalfOpen)
	}
	if m.state == breaker.Open || m.probe != nil {
		return nil
	}
	p := &modelPermit{work: work, era: m.era}
	if m.state == breaker.HalfOpen {
		m.probe = p
	}
	return p
}

// end takes the outcome that a permit has: F, S or R.
func (m *model) end(p *modelPermit, how rune, now time.Duration) {
	counts := !p.ended && p.era == m.era
	p.ended = true
	switch {
	case !counts:
	case how == 'R':
		m.probe = nil
	case p == m.probe && how == 'S':
		m.sample(p, false, now)
		m.change(breaker.Closed)
	case p == m.probe:
		m.sample(p, true, now)
		m.change(breaker.Open)
	default:
		m.sample(p, how == 'F', now)
		samples, failures := m.count()
		if !m.policy.Off && samples >= m.policy.MinSamples && float64(failures)/float64(samples) > m.policy.Threshold {
			m.change(breaker.Open)
		}
	}
}

// sample replaces the failure that work had before. What succeeded is new work
// if it comes again.
func (m *model) sample(p *modelPermit, failed bool, now time.Duration) {
	m.pass(now)
	m.outcomes = slices.DeleteFunc(m.outcomes, func(o outcome) bool { return p.work != 0 && o.work == p.work && o.failed })
	m.outcomes = append(m.outcomes, outcome{p.work, m.stepEnd(), failed})
	if failed {
		m.last = boom
	}
}

func (m *model) tune(p breaker.Policy) {
	if p.Window/60 != m.step() {
		young := make([]time.Duration, len(m.outcomes)) // the latest at which each can have been
		for i, o := range m.outcomes {
			young[i] = min(o.stepEnd-1, m.now)
		}
		m.policy, m.grid = p, m.now
		for i, at := range young {
			back := (m.now - at) / m.step()
			m.outcomes[i].stepEnd = m.now - back*m.step()
		}
		m.forget()
	}
	m.policy = p
	if p.Off && m.state != breaker.Closed {
		m.change(breaker.Closed)
	}
}

func (m *model) count() (samples, failures int) {
	for _, o := range m.outcomes {
		if o.failed {
			failures++
		}
	}
	return len(m.outcomes), failures
}

// status is what the breaker should say of itself at now.
func (m *model) status(now time.Duration) breaker.Status {
	seen := *m
	seen.outcomes = slices.Clone(m.outcomes)
	seen.pass(now)
	s := breaker.Status{State: m.state, LastFailure: m.last}
	if m.state != breaker.Closed {
		s.Since = after(m.since)
	}
	s.Samples, s.Failures = seen.count()
	if m.state == breaker.Open {
		s.Until = after(m.until)
	}
	return s
}

func anyPolicy(t *rapid.T) breaker.Policy {
	p := breaker.Policy{
		Off:        rapid.IntRange(0, 9).Draw(t, "off") == 9,
		Threshold:  rapid.SampledFrom([]float64{0, 0.1, 0.29, 0.5, 0.75, 0.99}).Draw(t, "threshold"),
		MinSamples: rapid.IntRange(1, 12).Draw(t, "min samples"),
		Window: rapid.OneOf(
			rapid.SampledFrom([]time.Duration{sec, 7 * sec, 60 * sec, 24 * time.Hour}),
			rapid.Custom(func(t *rapid.T) time.Duration {
				return time.Duration(rapid.Int64Range(int64(sec), int64(100*sec)).Draw(t, "ns"))
			}),
		).Draw(t, "window"),
		OpenFor: rapid.SampledFrom([]time.Duration{time.Millisecond, sec / 2, 3 * sec, 30 * sec}).Draw(t, "open for"),
	}
	if err := p.Validate(); err != nil {
		t.Fatalf("the generator made an invalid policy: %v", err)
	}
	return p
}

func TestABreakerDoesWhatItsModelDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &model{policy: anyPolicy(t)}
		b := breaker.New(m.policy)
		var told []breaker.State
		b.Notify(func(_, new breaker.Status) { told = append(told, new.State) })
		acquired, _ := b.Acquire(noon, 0) // noon is where time and the first step begin
		acquired.Release()

		var clock time.Duration
		var permits []*modelPermit
		read := func(t *rapid.T) time.Duration { // mostly a bit later, sometimes out of order
			clock += time.Duration(rapid.OneOf(
				rapid.Just(int64(0)), rapid.Int64Range(0, int64(sec)), rapid.Int64Range(0, int64(40*sec)),
				rapid.Just(int64(m.step())), rapid.Just(max(0, int64(m.until-clock))),
			).Draw(t, "pause"))
			late := time.Duration(rapid.SampledFrom([]int64{0, 0, 0, 1, int64(sec / 2)}).Draw(t, "late by"))
			return max(0, clock-late)
		}
		t.Repeat(map[string]func(*rapid.T){
			"acquire": func(t *rapid.T) {
				now, work := read(t), rapid.Int64Range(0, 9).Draw(t, "work")
				want := m.acquire(now, work)
				got, ok := b.Acquire(after(now), work)
				if ok != (want != nil) {
					t.Fatalf("at %v Acquire reports %v", now, ok)
				}
				if ok {
					want.Permit = got
					permits = append(permits, want)
				}
			},
			"end": func(t *rapid.T) {
				if len(permits) == 0 {
					t.Skip("no permits")
				}
				// The newest most of the time; any other may have ended before.
				i := max(0, len(permits)-1-rapid.OneOf(rapid.IntRange(0, 2), rapid.IntRange(0, 100)).Draw(t, "permit"))
				how := rapid.SampledFrom([]rune("FFFSSR")).Draw(t, "how")
				now := read(t)
				m.end(permits[i], how, now)
				end(permits[i].Permit, how, after(now))
			},
			"reset": func(t *rapid.T) {
				closed := m.state == breaker.Closed
				if !closed {
					m.change(breaker.Closed)
				}
				if b.Reset() == closed {
					t.Fatalf("the reset of a breaker that is closed: %v, and reports the same", closed)
				}
			},
			"tune": func(t *rapid.T) {
				p := anyPolicy(t)
				if rapid.Bool().Draw(t, "same window") {
					p.Window = m.policy.Window
				}
				m.tune(p)
				b.Tune(p)
			},
			"": func(t *rapid.T) {
				if diff := cmp.Diff(m.told, told); diff != "" {
					t.Fatalf("changes of state (-want +got):\n%s", diff)
				}
				moments := []time.Duration{m.now}
				for _, o := range m.outcomes {
					moments = append(moments, m.forgotten(o)-1, m.forgotten(o))
				}
				for _, at := range moments {
					if diff := cmp.Diff(m.status(at), b.Status(after(at))); diff != "" {
						t.Fatalf("status at %v (-want +got):\n%s", at, diff)
					}
				}
			},
		})
	})
}
