package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"
)

// part says which part a child process plays.
const part = "BUSGEN_EXAMPLE_PART"

// stage has the processes, and what the shops say.
type stage struct {
	began         time.Time
	folder        string
	ports, routes []string
	servers       [3]*actor
	shops         [2]*actor

	mu      sync.Mutex
	handled map[string]map[int64]int // how often, by subscription and order
	by      map[string]string        // which shop handled the last order of a subscription
}

// actor is a child process.
type actor struct {
	cmd   *exec.Cmd
	stdin io.Closer
	heard chan struct{} // closed when it has said everything
}

// playPart does what a child process is for. It reports false in the process that was started
// first.
func playPart() bool {
	if os.Getenv(part) == "" {
		return false
	}
	args := os.Args[1:]
	var err error
	if args[0] == "server" {
		err = runServer(args[1], args[2], args[3:])
	} else {
		err = runShop(args[1], args[2])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "example:", args[0], args[1]+":", err)
		os.Exit(1)
	}
	return true
}

// start starts a process that plays a part. Each of its lines goes to line.
func start(line func(string), args ...string) (*actor, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	a := &actor{cmd: exec.Command(self, args...), heard: make(chan struct{})}
	a.cmd.Env, a.cmd.Stderr = append(os.Environ(), part+"=1"), os.Stderr
	if a.stdin, err = a.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := a.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	go func() {
		defer close(a.heard)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			line(lines.Text())
		}
	}()
	return a, a.cmd.Start()
}

// kill ends the process with SIGKILL.
func (a *actor) kill() {
	a.cmd.Process.Kill()
	<-a.heard
	a.cmd.Wait()
}

// clear ends all processes, and deletes what the servers have stored.
func (s *stage) clear() {
	for _, a := range slices.Concat(s.shops[:], s.servers[:]) {
		if a != nil {
			a.kill()
		}
	}
	os.RemoveAll(s.folder)
}

// say prints a line with the time since the beginning.
func (s *stage) say(format string, args ...any) {
	fmt.Printf("%5.1f s  %s\n", time.Since(s.began).Seconds(), fmt.Sprintf(format, args...))
}

func (s *stage) startShop(i int, target string) (err error) {
	s.shops[i], err = start(s.hear, "shop", fmt.Sprintf("shop %d", i+1), target)
	return err
}

// hear notes that a shop has handled an order: "shop 1 charge-card 17".
func (s *stage) hear(line string) {
	var shop, number int64
	var subscription string
	if _, err := fmt.Sscanf(line, "shop %d %s %d", &shop, &subscription, &number); err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.handled[subscription] == nil {
		s.handled[subscription] = map[int64]int{}
	}
	s.handled[subscription][number]++
	name := fmt.Sprintf("shop %d", shop)
	if s.by[subscription] != name {
		s.by[subscription] = name
		s.say("  %s handles %s now", name, subscription)
	}
}

// killShop kills the shop that charges cards, and starts it again.
func (s *stage) killShop(target string) {
	s.mu.Lock()
	i := 0
	if s.by["charge-card"] == "shop 2" {
		i = 1
	}
	s.mu.Unlock()
	s.say("shop %d is killed", i+1)
	s.shops[i].kill()
	time.Sleep(2 * time.Second)
	if err := s.startShop(i, target); err == nil {
		s.say("shop %d is started again", i+1)
	}
}

// killServer kills the server that leads the stream, and starts it again.
func (s *stage) killServer(ctx context.Context) {
	i := max(0, slices.Index(serverNames, s.leader(ctx)))
	s.say("server %s is killed, which leads the stream", serverNames[i])
	s.servers[i].kill()
	time.Sleep(3 * time.Second)
	leader := s.leader(ctx)
	if err := s.startServer(i); err == nil && leader != "" {
		s.say("server %s leads now; server %s is started again", leader, serverNames[i])
	}
}

// check makes sure that every order was handled by every subscription.
func (s *stage) check() error {
	time.Sleep(200 * time.Millisecond) // the last lines are on their way
	s.mu.Lock()
	defer s.mu.Unlock()
	var missing []string
	twice := 0
	for _, subscription := range subscriptions {
		for n := range int64(orders) {
			switch times := s.handled[subscription][n]; {
			case times == 0:
				missing = append(missing, fmt.Sprintf("order %d by %s", n, subscription))
			case times > 1:
				twice++
			}
		}
	}
	if len(missing) > 0 {
		return errors.New("not handled: " + strings.Join(missing, ", "))
	}
	s.say("checked: %d orders were handled by %d subscriptions each, none was lost", orders, len(subscriptions))
	if twice > 0 {
		s.say("%d were handled twice: their process was killed between the work and the note of it", twice)
	}
	return nil
}
