package stream_test

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/busgen/busgen/runtime/jetstream/internal/servertest"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// followed is a stream that is written over one connection, and followed over another.
type followed struct {
	t      *testing.T
	server *servertest.Server
	line   *servertest.Line // of who follows
	writer *stream.Stream
	reader *stream.Stream

	mu   sync.Mutex
	got  []int
	hold chan struct{} // if set, the reader waits for it
}

func follow(t *testing.T) *followed {
	f := &followed{t: t, server: servertest.Start(t, t.TempDir())}
	f.line = f.server.Line()
	open := func(connect func(...nats.Option) (*nats.Conn, error)) *stream.Stream {
		nc, err := connect(nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
		if err != nil {
			t.Fatal(err)
		}
		s, err := stream.Open(t.Context(), nc, "bus", stream.Settings{InMemory: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		return s
	}
	f.writer, f.reader = open(f.server.Connect), open(f.line.Connect)
	return f
}

func (f *followed) begin() (stop func()) {
	stop, err := f.reader.Follow(f.t.Context(), 1, nil, func(all []stream.Stored) {
		for _, m := range all {
			if f.hold != nil {
				<-f.hold
			}
			n, _ := strconv.Atoi(string(m.Data))
			f.mu.Lock()
			f.got = append(f.got, n)
			f.mu.Unlock()
		}
	})
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(stop)
	return stop
}

func (f *followed) write(from, to int) {
	f.t.Helper()
	for n := from; n <= to; n++ {
		if _, _, err := f.writer.Append(context.Background(), &stream.Msg{Subject: "bus.x", Data: []byte(strconv.Itoa(n))}); err != nil {
			f.t.Fatal(err)
		}
	}
}

// forget deletes the consumers of the stream.
func (f *followed) forget() {
	f.t.Helper()
	nc, err := f.server.Connect()
	if err != nil {
		f.t.Fatal(err)
	}
	defer nc.Close()
	js, _ := jetstream.New(nc)
	s, err := js.Stream(f.t.Context(), "bus")
	if err != nil {
		f.t.Fatal(err)
	}
	for name := range s.ConsumerNames(f.t.Context()).Name() {
		if err := s.DeleteConsumer(f.t.Context(), name); err != nil {
			f.t.Fatal(err)
		}
	}
}

// wants fails the test unless the numbers up to n have come, in order and once.
func (f *followed) wants(n int) {
	f.t.Helper()
	var want []int
	for i := range n {
		want = append(want, i+1)
	}
	synctest.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.Equal(f.got, want) {
		f.t.Errorf("the reader got %d messages, want %d: %s", len(f.got), n, firstOther(f.got))
	}
}

func firstOther(got []int) string {
	for i, n := range got {
		if n != i+1 {
			return fmt.Sprintf("%d comes where %d should", n, i+1)
		}
	}
	return "in order"
}

func TestAReaderGoesOnWhereItWasWhenTheConnectionIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := follow(t)
		f.write(1, 5)
		f.begin()
		f.wants(5)
		f.line.Drop()
		f.forget() // it was connected to the server that is gone
		f.write(6, 20)
		time.Sleep(300 * time.Millisecond) // no silence of the server was noticed by now
		f.wants(20)
	})
}

func TestAReaderBeginsAgainWhenTheServerIsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := follow(t)
		f.write(1, 5)
		f.begin()
		f.wants(5)
		f.forget()
		f.write(6, 10)
		time.Sleep(2 * time.Second)
		f.wants(10)
	})
}

func TestAReaderThatLosesMessagesSeesTheGap(t *testing.T) {
	stream.SetFeedRoom(t, 8)
	synctest.Test(t, func(t *testing.T) {
		f := follow(t)
		f.hold = make(chan struct{})
		f.begin()
		f.write(1, 100)
		synctest.Wait()
		close(f.hold)
		f.write(101, 110)
		time.Sleep(10 * time.Second)
		f.wants(110)
	})
}

func TestAReaderStopsAtOnceWhileTheServerDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := follow(t)
		stop := f.begin()
		f.line.Freeze()
		time.Sleep(1600 * time.Millisecond) // it begins again
		began := time.Now()
		stop()
		synctest.Wait()
		all := make([]byte, 1<<20)
		all = all[:runtime.Stack(all, true)]
		if bytes.Contains(all, []byte("(*reader).run")) || time.Since(began) != 0 {
			t.Errorf("the reader has not ended %v later", time.Since(began))
		}
		f.line.Cut()
	})
}

func TestTheLastMessageOfEachSubjectIsReadOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := follow(t)
		f.write(1, 1000)
		for i := range 2000 {
			f.writer.Append(t.Context(), &stream.Msg{Subject: fmt.Sprint("bus.y.", i%700), Only: true})
		}
		seen := map[string]int{}
		last, err := f.reader.LastOf(t.Context(), "bus.y.>")
		if err != nil {
			t.Fatal(err)
		}
		if err := f.reader.LastOfEach(t.Context(), []string{"bus.x", "bus.y.>"}, last.Seq, func(m stream.Stored) { seen[m.Subject]++ }); err != nil {
			t.Fatal(err)
		}
		if len(seen) != 701 || seen["bus.x"] != 1 || seen["bus.y.0"] != 1 {
			t.Errorf("%d subjects, want 701", len(seen))
		}
		if err := f.reader.LastOfEach(t.Context(), []string{"bus.none"}, last.Seq, func(m stream.Stored) { t.Error("got", m.Subject) }); err != nil {
			t.Fatal(err)
		}
	})
}

// What the server says about how many are left is not exact while messages are replaced.
func TestTheLastMessageOfEachSubjectIsReadWhileOthersReplaceIt(t *testing.T) {
	const subjects, rounds = 50, 300
	synctest.Test(t, func(t *testing.T) {
		f := follow(t)
		write := func(i int) {
			if _, _, err := f.writer.Append(t.Context(), &stream.Msg{Subject: fmt.Sprint("bus.y.", i), Only: true}); err != nil {
				t.Error(err)
			}
		}
		for i := range subjects {
			write(i)
		}
		for round := range rounds {
			var writing sync.WaitGroup
			for i := range 4 {
				writing.Go(func() {
					for j := range 5 {
						write((round*7 + i*13 + j*17) % subjects)
					}
				})
			}
			last, err := f.reader.LastOf(t.Context(), "bus.y.>")
			if err != nil {
				t.Fatal(err)
			}
			seen, began := map[string]int64{}, time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			err = f.reader.LastOfEach(ctx, []string{"bus.y.>"}, last.Seq, func(m stream.Stored) { seen[m.Subject] = m.Seq })
			cancel()
			if took := time.Since(began); err != nil || took > 300*time.Millisecond {
				t.Fatalf("round %d: it took %v: %v", round, took, err)
			}
			writing.Wait()
			for i := range subjects {
				now, err := f.reader.LastOf(t.Context(), fmt.Sprint("bus.y.", i))
				if err != nil {
					t.Fatal(err)
				}
				if got := seen[now.Subject]; got != now.Seq && now.Seq <= last.Seq {
					t.Fatalf("round %d: of %s it has read message %d of %d", round, now.Subject, got, now.Seq)
				}
			}
		}
	})
}
