package systest

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	. "github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/internal/sqlite/claims"
	"github.com/busgen/busgen/runtime/internal/sqlite/file"
)

var parkedKills = short.Flag("parked.kills", 10, 3, "how often the test kills a process most of whose deliveries are parked")

func init() { children["parked"] = parkedChild }

// parkedChild publishes and handles until it is killed. It says
//
//	published <id>                         PublishBatch has returned
//	running <way> <id> <customer> <number> a handler is called
//	returning <id>                         it is about to return
func parkedChild(path string) {
	bus, err := runtime.Open(context.Background(), path, ParkedCatalogue(), ParkedLimit)
	check(err)
	check(SubscribeParked(bus, func(way string, e runtime.Event[Job]) error {
		say("running %s %s %s %d", way, e.ID, e.Payload.Customer, e.Payload.Number)
		time.Sleep(time.Duration(e.Payload.Number%3) * time.Millisecond)
		if way == "breaker" && e.Payload.Customer == "noisy" {
			return ErrBoom
		}
		say("returning %s", e.ID)
		return nil
	}))
	check(bus.Start(context.Background()))
	say("ready")
	check(PublishParked(bus, 50, func(one *runtime.Receipt) { say("published %s", one.ID) }))
	select {}
}

// parkedRecord is what the test knows of the deliveries.
type parkedRecord struct {
	t         *testing.T
	mu        sync.Mutex
	published map[string]bool
	began     map[string]int    // by event: its attempts, in all lives
	now       map[string]bool   // those whose attempt has not ended
	claimed   map[string]bool   // those that a process had begun, and may not have said so
	last      map[string]int    // by subscription and customer: the last number that came for the first time
	settled   map[string]string // by event: its status
	parked    map[string]string // by event: its waitlist, after the last kill
	history   map[string]string // by event: what the file has said after kills
	kills     int
	seen      map[string]int // by kind of waitlist: after how many kills deliveries were parked
}

// begin notes that a handler is called.
func (p *parkedRecord) begin(way, id, customer string, number int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.settled[id] != "" {
		p.t.Errorf("%s of %s was settled and is handled again", id, way)
	}
	if of := way + " " + customer; p.began[id] == 0 && !p.claimed[id] && way != "limit" && !(way == "breaker" && customer == "noisy") {
		if number < p.last[of] {
			p.t.Errorf("in %s, %d came after %d: %s: %s", of, number, p.last[of], id, p.history[id])
		}
		p.last[of] = number
	}
	p.began[id]++
	p.now[id] = true
}

// hear takes what a child has said.
func (p *parkedRecord) hear(line string) {
	words := strings.Fields(line)
	switch words[0] {
	case "published":
		p.published[words[1]] = true
	case "running":
		number, _ := strconv.Atoi(words[4])
		p.begin(words[1], words[2], words[3], number)
	case "returning":
		delete(p.now, words[1])
	}
}

// look compares the file that a process has left with what it has said.
func (p *parkedRecord) look(path string) {
	copied := filepath.Join(p.t.TempDir(), "copy.db")
	for _, suffix := range []string{"", "-wal"} {
		content, err := os.ReadFile(path + suffix)
		if os.IsNotExist(err) {
			continue
		}
		Must(p.t, err)
		Must(p.t, os.WriteFile(copied+suffix, content, 0o600))
	}
	defer os.Remove(copied)
	defer os.Remove(copied + "-wal")
	pairs := func(query string) map[string]string {
		all := map[string]string{}
		for _, line := range strings.Split(queryFile(p.t, copied, "SELECT group_concat(key || '=' || value, char(10)) FROM ("+query+")"), "\n") {
			if key, value, found := strings.Cut(line, "="); found {
				all[undashed(key)] = value
			}
		}
		return all
	}
	running := p.now
	p.now = map[string]bool{}
	settled := pairs("SELECT id AS key, status AS value FROM events WHERE status NOT IN ('pending', 'processing')")
	for id, status := range settled {
		if status != "done" {
			p.t.Errorf("%s is %s", id, status)
		}
		if p.began[id] == 0 {
			p.t.Errorf("%s is settled, and was not handled", id)
		}
	}
	p.settled = settled
	charged := pairs("SELECT lower(hex(l.id)) AS key, count(*) AS value FROM busgen_attempts a JOIN busgen_log l ON l.seq = a.seq GROUP BY a.seq")
	for id, text := range charged {
		if n, _ := strconv.Atoi(text); n > p.began[id] && !p.claimed[id] {
			p.t.Errorf("%s has begun %d times and has %d failures on record", id, p.began[id], n)
		}
	}
	p.parked = pairs("SELECT lower(hex(l.id)) AS key, d.waitlist AS value FROM busgen_deliveries d JOIN busgen_log l ON l.seq = d.seq WHERE d.state = 'held' AND d.waitlist IS NOT NULL")
	p.kills++
	rows := pairs("SELECT lower(hex(l.id)) AS key, d.state || ' ' || coalesce(d.due_at, '') || ' in ' || coalesce(d.waitlist, '') || ' and ' || coalesce(d.key, '') || ' suspect ' || d.suspect AS value FROM busgen_deliveries d JOIN busgen_log l ON l.seq = d.seq")
	for id, row := range rows {
		if said := fmt.Sprintf("; %s after kill", row); !strings.Contains(p.history[id][max(0, strings.LastIndex(p.history[id], ";")):], said) {
			p.history[id] += said + fmt.Sprint(" ", p.kills)
		}
	}
	kinds := map[string]bool{}
	for _, waitlist := range p.parked {
		kind, _, _ := strings.Cut(waitlist, " ")
		kinds[kind] = true
	}
	for kind := range kinds {
		p.seen[kind]++
	}
	left, _ := claims.Left(path + file.ClaimsSuffix)
	for _, one := range left {
		p.claimed[queryFile(p.t, copied, fmt.Sprint("SELECT coalesce(max(lower(hex(id))), '') FROM busgen_log WHERE seq = ", one.Running))] = true
	}
	for id := range running {
		if waitlist := p.parked[id]; waitlist != "" && !strings.HasPrefix(waitlist, "breaker ") {
			p.t.Errorf("%s was at work when its process was killed, and is parked in %s", id, waitlist)
		}
	}
}

// undashed is an event's id without dashes.
func undashed(id string) string { return strings.ReplaceAll(id, "-", "") }

// A process is killed again and again while most deliveries are parked: for a limit by key, behind others of their key,
// behind the open breaker of their key, and in a pause of their key. None of them is lost, handled again after its
// success is stored, charged with a crash of others, or overtaken by a later one of its partition key.
func TestParkedDeliveriesOutliveKills(t *testing.T) {
	short.Visit(t, "processes are killed")
	seed := uint64(time.Now().UnixNano())
	t.Logf("%d kills, seed %d", parkedKills.N(), seed)
	random := rand.New(rand.NewPCG(seed, 44))
	path := filepath.Join(t.TempDir(), "events.db")
	p := &parkedRecord{
		t: t, published: map[string]bool{}, began: map[string]int{}, now: map[string]bool{}, claimed: map[string]bool{}, last: map[string]int{}, seen: map[string]int{}, history: map[string]string{},
	}
	open := func() *Fixture {
		f := SQLite.ReopenWith(t, path, ParkedCatalogue(), ParkedLimit)
		Must(t, SubscribeParked(f.Bus, func(way string, e runtime.Event[Job]) error {
			p.begin(way, undashed(e.ID.String()), e.Payload.Customer, e.Payload.Number)
			return nil
		}))
		return f
	}
	f := open()
	Must(t, f.PauseKey(t.Context(), "pause", "noisy", "it is full"))
	Must(t, PublishParked(f.Bus, 600, func(one *runtime.Receipt) { p.published[undashed(one.ID.String())] = true }))
	f.Stop()

	for range parkedKills.N() {
		for _, line := range child(t, "parked", path, time.Duration(1+random.IntN(400))*time.Millisecond) {
			p.hear(undashed(line))
		}
		p.look(path)
	}
	t.Logf("%d events were published, %d had begun, %d were settled, %d were parked at the end; kinds of parked ones after kills: %v",
		len(p.published), len(p.began), len(p.settled), len(p.parked), p.seen)
	for _, kind := range []string{"limit", "key", "breaker", "pause"} {
		if p.seen[kind] < parkedKills.N()/3 {
			t.Errorf("after %d kills of %d, something was parked in a waitlist of kind %s", p.seen[kind], parkedKills.N(), kind)
		}
	}
	f = open()
	Must(t, f.ResumeKey(t.Context(), "pause", "noisy"))
	f.MustStart()
	f.Idle()
	f.Stop()
	p.look(path)
	for id := range maps.Keys(p.published) {
		if p.settled[id] != "done" {
			t.Errorf("%s was published, and is %q", id, p.settled[id])
		}
	}
	if got := queryFile(t, path, "PRAGMA integrity_check"); got != "ok" {
		t.Errorf("integrity_check says %s", got)
	}
}
