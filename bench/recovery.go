package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync/atomic"
	"time"

	"github.com/busgen/busgen/runtime"
)

// interrupted is how many handlers run when their process is killed.
const interrupted = 100

// recovery measures from Start until the events are handled whose handlers ran
// when their process was killed, in turns with a start that finds as many events
// which no handler has begun.
func recovery(ctx context.Context, s *setting) (result, error) {
	var crashed, waiting []time.Duration
	for until := time.Now().Add(s.total); crashed == nil || time.Now().Before(until); {
		path := s.file()
		if err := interrupt(ctx, path); err != nil {
			return result{}, err
		}
		took, err := handleAll(ctx, path, interrupted)
		if err != nil {
			return result{}, err
		}
		crashed = append(crashed, took)

		path = s.file()
		if _, err := fill(ctx, path, interrupted, false, 0); err != nil {
			return result{}, err
		}
		if took, err = handleAll(ctx, path, 0); err != nil {
			return result{}, err
		}
		waiting = append(waiting, took)
	}
	ours, limit := quantile(crashed, 0.5), quantile(waiting, 0.5)
	return result{
		PerSecond: interrupted * 1e6 / ours, Limit: interrupted * 1e6 / limit, Ratio: limit / ours,
		Recover: ours / 1e3,
	}, nil
}

// handleAll starts a bus on the file at path and returns how long it takes to
// handle its events. So many of them must be found interrupted.
func handleAll(ctx context.Context, path string, want int) (took time.Duration, err error) {
	b, err := openBus(ctx, path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, b.Shutdown(context.WithoutCancel(ctx))) }()
	_, took, err = b.drain(ctx, interrupted, runtime.WithConcurrency(interrupted))
	if err != nil {
		return 0, err
	}
	if found := b.Stats().Recovery.Interrupted; found != want {
		return 0, fmt.Errorf("%d events were found interrupted, want %d", found, want)
	}
	return took, nil
}

// interrupt makes a file with events whose handlers ran when their process was
// killed.
func interrupt(ctx context.Context, path string) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	if _, err := fill(ctx, path, interrupted, false, 0); err != nil {
		return err
	}
	child := exec.CommandContext(ctx, program)
	child.Env = append(os.Environ(), childFile+"="+path)
	child.Stderr = os.Stderr
	stdin, err := child.StdinPipe()
	if err != nil {
		return err
	}
	defer stdin.Close()
	stdout, err := child.StdoutPipe()
	if err != nil {
		return err
	}
	if err := child.Start(); err != nil {
		return err
	}
	said, err := bufio.NewReader(stdout).ReadString('\n')
	killErr := child.Process.Kill()
	child.Wait() // killed, which is not an error here
	if said != childReady {
		return errors.Join(fmt.Errorf("the process to be killed said %q", said), err, killErr)
	}
	return killErr
}

// childFile is the environment variable that makes this program the process
// that is killed, and names its file.
const childFile = "BUSGEN_BENCH_CHILD"

// childReady is printed by the child when all its handlers run.
const childReady = "running\n"

// beChild does not return in a process that was started to be killed.
func beChild() {
	if path := os.Getenv(childFile); path != "" {
		fmt.Fprintln(os.Stderr, "bench: the process that was to be killed:", neverFinish(path))
		os.Exit(1)
	}
}

// neverFinish starts to handle the events of the file at path. It returns if
// something fails, or when its parent dies without killing it.
func neverFinish(path string) error {
	ctx := context.Background()
	b, err := openBus(ctx, path)
	if err != nil {
		return err
	}
	var running atomic.Int64
	err = b.handle(subscriptionName(0), func() error {
		if running.Add(1) == interrupted {
			fmt.Print(childReady)
		}
		select {}
	}, runtime.WithConcurrency(interrupted))
	if err != nil {
		return err
	}
	if err := b.Start(ctx); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return errors.Join(errors.New("its parent has died"), err)
}
