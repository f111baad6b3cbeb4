package jetstream_test

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/internal/conformance/inspection"
	"github.com/busgen/busgen/runtime/jetstream"
	"github.com/busgen/busgen/runtime/jetstream/internal/buslog"
	"github.com/busgen/busgen/runtime/jetstream/internal/servertest"
)

// servers are the servers of tests, by the hosts of their targets.
type servers struct {
	mu   sync.Mutex
	made int
	all  map[string]*server // those of tests that run: a server keeps all that was ever connected to it in memory
}

type server struct {
	*servertest.Server
	dir string
}

func (s *servers) add(t *testing.T, dir string) string {
	one := &server{servertest.Start(t, dir), dir}
	s.mu.Lock()
	defer s.mu.Unlock()
	host := fmt.Sprintf("test%d", s.made)
	s.made++
	s.all[host] = one
	t.Cleanup(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.all, host)
	})
	return "nats://" + host + "/bus"
}

func (s *servers) of(target string) *server {
	host, _, _ := strings.Cut(strings.TrimPrefix(target, "nats://"), "/")
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[host]
}

func (s *servers) connect(address string) (*nats.Conn, error) {
	one := s.of(address)
	if one == nil {
		return nil, fmt.Errorf("there is no server %s", address)
	}
	return one.Connect(nats.MaxReconnects(-1))
}

// newEngine returns an engine for one suite. Each log has a server of its own.
func newEngine(more ...jetstream.Option) *conformance.Engine {
	all := &servers{all: map[string]*server{}}
	opts := append([]jetstream.Option{jetstream.Through(all.connect), jetstream.Silent()}, more...)
	if !*onDisk {
		opts = append(opts, jetstream.InMemory())
	}
	return &conformance.Engine{
		Options:     []runtime.Option{jetstream.Engine(opts...)},
		Inspect:     []inspect.Option{jetstream.Inspect(opts...)},
		Storage:     jetstream.Storage(opts...),
		Unwritten:   20 * time.Millisecond,
		Unclaimed:   20 * time.Millisecond,
		ForgetsLeft: true,
		NewTarget:   func(t *testing.T) string { return all.add(t, t.TempDir()) },
		Copy: func(t *testing.T, target string) string {
			dir := t.TempDir()
			if !*onDisk {
				copied := all.add(t, dir)
				all.of(target).CopyTo(t, all.of(copied).Server, "bus")
				return copied
			}
			if err := os.CopyFS(dir, os.DirFS(all.of(target).dir)); err != nil {
				t.Fatal(err)
			}
			return all.add(t, dir)
		},
		Sizes: func(memory, page int) (restore func()) {
			before := buslog.Sizes
			buslog.Sizes.Ring, buslog.Sizes.Page, buslog.Sizes.Rows, buslog.Sizes.Ahead = memory, page, page, 2*page
			return func() { buslog.Sizes = before }
		},
	}
}

// onDisk makes servers keep streams in files. An atomic batch then costs some milliseconds,
// as long as there is one server only.
var onDisk = flag.Bool("on-disk", false, "keep streams in files")

// readRows makes processes read rows whenever they need them.
var readRows = flag.Bool("read-rows", false, "keep no rows in memory")

func TestConformance(t *testing.T) {
	if *readRows {
		buslog.WholeBytes = 0
	}
	conformance.Run(t, &conformance.Env{Engine: newEngine(jetstream.Hasty())}, exceptions)
}

// The suite takes a process for dead at once, so that it can say when something happens. Here
// are its tests of crashes once more, on processes that are dead when nobody has reached them
// for three seconds.
func TestCrashesOfProcessesThatMayComeBack(t *testing.T) {
	short.Skip(t, "processes are dead after three seconds")
	env := &conformance.Env{Engine: newEngine()}
	found := 0
	for _, name := range conformance.Names(env) {
		if crashes.MatchString(name) && !slices.Contains(timed, name) {
			found++
			t.Run(name, func(t *testing.T) { reflect.ValueOf(env).MethodByName(name).Interface().(func(*testing.T))(t) })
		}
	}
	if found < 30 {
		t.Errorf("the suite has %d tests of crashes, want 30 or more", found)
	}
}

var crashes = regexp.MustCompile("Crash|Suspect|Poison|Half|Halves|Halved|Kill|Death|Dies|Died")

// timed are tests of crashes that say when a process is taken over.
var timed = []string{"TestASuspectThatWaitsForALimitHoldsUpNobody"}

func TestInspection(t *testing.T) {
	conformance.Run(t, &inspection.Env{Engine: newEngine(jetstream.Hasty())}, inspectionExceptions)
}

// exceptions are the tests of the suite that do not hold for this engine, by reason.
var exceptions = map[string][]string{
	"every process may dispatch: subscriptions are divided between processes, and nobody has to stand by": {
		"TestOneBusAtATimeDispatchesFromAFile",
		"TestAStandbyCanBeGivenUp",
		"TestAStandbyTakesOverWhenTheOwnerEnds",
		"TestAStandbyTakesOverWhatWaitsForALimit",
	},
	"partition keys are computed when an event is published: code that ends its goroutine ends the publisher's": {
		"TestAPayloadThatCannotBeReadIsADeadLetterAtOnceAndAffectsNoOthers",
	},
}

// inspectionExceptions are those of the other suite.
var inspectionExceptions = map[string][]string{
	"nobody is erased from a stream": {
		"TestAPersonIsErasedAndOthersAreNot",
		"TestAnOpenEventIsErasedOnlyOnceItIsSettled",
		"TestOpenEventsAreCancelledToBeErased",
		"TestErasingChoosesByKeyFieldAndType",
		"TestANewSubscriptionIsNotHandedWhatWasErased",
		"TestAnEventIsNotErasedWhileItsHandlerRunsThoughItIsDiscarded",
		"TestDeadLetterNoticesCanBeHandledAfterAnErasureAndNameNobody",
	},
}
