package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/busgen/busgen/bench/events"
)

// leavings are the ways in which a process leaves its subscription to another one.
var leavings = []struct {
	name   string
	signal syscall.Signal
	rounds int
}{
	{"takeover-orderly", syscall.SIGTERM, 9}, // it shuts its bus down
	{"takeover-killed", syscall.SIGKILL, 3},
}

// measureTakeovers prints for how long nothing is handled when a process leaves: from the signal
// to the first event that this process handles. Both publish and handle by one subscription,
// whose events have one handler at a time; the other process has it first.
func (s *setting) measureTakeovers(ctx context.Context, match func(string) bool) error {
	for _, how := range leavings {
		if !match(how.name) {
			continue
		}
		var took []time.Duration
		for range how.rounds {
			one, err := s.takeover(ctx, how.signal)
			if err != nil {
				return fmt.Errorf("%s: %w", how.name, err)
			}
			took = append(took, one.Round(100*time.Microsecond))
		}
		slices.Sort(took)
		fmt.Printf("%-17s %v, the median of %d; the longest %v\n", how.name, took[len(took)/2], len(took), took[len(took)-1])
	}
	return nil
}

// takeover measures one takeover.
func (s *setting) takeover(ctx context.Context, how syscall.Signal) (time.Duration, error) {
	defer s.end()
	address := s.address() + "/" + s.newName()
	other := exec.CommandContext(ctx, os.Args[0], "-worker", address, "-servers", fmt.Sprint(s.replicas))
	other.Stderr = os.Stderr
	said, err := other.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := other.Start(); err != nil {
		return 0, err
	}
	defer other.Wait()
	defer other.Process.Kill()
	if line, err := bufio.NewReader(said).ReadString('\n'); err != nil {
		return 0, fmt.Errorf("the other process handles nothing: %q, %w", line, err)
	}
	b, err := s.openBusAt(ctx, address, 1)
	if err != nil {
		return 0, err
	}
	// What the other process handles does not reach this one, so a second is enough for this one to
	// be there, and for a claim of the other one to be too old.
	for until := time.Now().Add(time.Second); time.Now().Before(until); time.Sleep(time.Millisecond) {
		if _, err := events.PublishOrderPlaced(ctx, b.Bus, sample); err != nil {
			return 0, err
		}
	}
	if n := b.deliveries(); n > 0 {
		return 0, fmt.Errorf("this process has handled %d events of the other one's subscription", n)
	}
	began := time.Now()
	if err := other.Process.Signal(how); err != nil {
		return 0, err
	}
	for b.deliveries() == 0 {
		if time.Since(began) > time.Minute {
			return 0, fmt.Errorf("nothing was handled for a minute")
		}
		if _, err := events.PublishOrderPlaced(ctx, b.Bus, sample); err != nil {
			return 0, err
		}
	}
	return time.Since(began), nil
}

// work is the other process of a takeover. It says when it has handled its first event.
func work(address string, replicas int) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	s := &setting{replicas: replicas}
	defer s.end()
	b, err := s.openBusAt(ctx, address, 1)
	if err != nil {
		return err
	}
	if _, err := events.PublishOrderPlaced(ctx, b.Bus, sample); err != nil {
		return err
	}
	if err := b.waitHandled(1); err != nil {
		return err
	}
	fmt.Println("handled")
	<-ctx.Done()
	return nil
}
