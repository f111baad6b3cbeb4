package stream_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// answering makes a test the server for a subject. answer gets what asks for the number that is the
// last token of its subject, and what answers it with that.
func (f *followed) answering(subject string, answer func(n int, respond func())) {
	f.t.Helper()
	nc, err := f.server.Connect()
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(nc.Close)
	_, err = nc.Subscribe(subject, func(m *nats.Msg) {
		text := m.Subject[strings.LastIndexByte(m.Subject, '.')+1:]
		n, _ := strconv.Atoi(text)
		answer(n, func() { m.Respond(fmt.Appendf(nil, `{"stream":"bus","seq":%s}`, text)) })
	})
	if err != nil {
		f.t.Fatal(err)
	}
	synctest.Wait()
}

func number(n int) *stream.Msg { return &stream.Msg{Subject: fmt.Sprint("answer.", n)} }

func TestEachOfManyAppendsAtATimeGetsItsOwnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := follow(t)
		var mu sync.Mutex
		var held []func()
		f.answering("answer.*", func(_ int, respond func()) {
			mu.Lock()
			defer mu.Unlock()
			if held = append(held, respond); len(held) > 1 {
				return
			}
			time.AfterFunc(time.Millisecond, func() {
				mu.Lock()
				defer mu.Unlock()
				for i := range held { // the last one first
					held[len(held)-1-i]()
				}
				held = nil
			})
		})
		var running sync.WaitGroup
		for worker := range 50 {
			running.Go(func() {
				for i := range 21 {
					n := 21*worker + i + 1
					if first, _, err := f.writer.AppendWithin(time.Second, number(n)); first != int64(n) || err != nil {
						t.Errorf("append %d returns %d, %v", n, first, err)
					}
				}
			})
		}
		running.Wait()
	})
}

// A call is used again when it has ended. Who has it then does not get an answer that comes late.
func TestAnAnswerThatComesLateIsNobodys(t *testing.T) {
	ends := map[string]func(s *stream.Stream, n int) (int64, bool, error){
		"time": func(s *stream.Stream, n int) (int64, bool, error) { return s.AppendWithin(2*time.Second, number(n)) },
		"context": func(s *stream.Stream, n int) (int64, bool, error) {
			ctx, cancel := context.WithCancel(context.Background())
			time.AfterFunc(2*time.Second, cancel)
			return s.Append(ctx, number(n))
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := follow(t)
				var late []func()
				f.answering("answer.*", func(n int, respond func()) {
					if n < 4 {
						late = append(late, respond)
						return
					}
					for _, other := range late {
						other()
					}
					respond()
				})
				for n := range 3 {
					began := time.Now()
					if _, _, err := end(f.writer, n+1); !errors.Is(err, stream.ErrInDoubt) || time.Since(began) != 2*time.Second {
						t.Fatalf("append %d returns %v after %v, want ErrInDoubt after two seconds", n+1, err, time.Since(began))
					}
				}
				for n := 4; n < 10; n++ {
					if first, _, err := f.writer.AppendWithin(2*time.Second, number(n)); first != int64(n) || err != nil {
						t.Errorf("append %d returns %d, %v", n, first, err)
					}
				}
			})
		})
	}
}

func TestAnAppendThatNobodyGetsIsNotInDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := follow(t)
		var running sync.WaitGroup
		for n := range 3 {
			running.Go(func() {
				if _, _, err := f.writer.AppendWithin(time.Second, number(n)); errors.Is(err, stream.ErrInDoubt) || !errors.Is(err, nats.ErrNoResponders) {
					t.Errorf("an append that nobody answers returns %v, want ErrNoResponders", err)
				}
			})
		}
		running.Wait()
	})
}

func TestAnAppendEndsWhenTheStreamIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := follow(t)
		f.answering("answer.*", func(int, func()) {})
		began := time.Now()
		time.AfterFunc(time.Second, f.writer.Close)
		if _, _, err := f.writer.AppendWithin(time.Minute, number(1)); !errors.Is(err, stream.ErrInDoubt) || time.Since(began) != time.Second {
			t.Errorf("an append returns %v after %v, want ErrInDoubt after a second", err, time.Since(began))
		}
	})
}
