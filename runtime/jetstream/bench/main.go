// Command bench measures how fast the bus is on NATS JetStream, as a ratio to what a program
// with nats.go does on the same servers at the same time.
//
//	go run ./bench                 one server in this process
//	go run ./bench -servers 3      three of them, and streams of three replicas
//	go run ./bench -sync           the servers write each message to the disk
//	go run ./bench -url nats://a,b,c -servers 3    servers that run already
//	go run ./bench -side bus -cpuprofile p.out     one side only, for a profile
//	go run ./bench -side bus -memprofile m.out     and what it allocates
//
// The bare side has a stream of the same settings and stores messages with the same payloads
// and headers of about the same size. The two take turns in short slices, so that both see the
// same machine. Absolute numbers tell more about the machine, and about how busy it is, than
// about the bus. The last columns are the microseconds of processor time, in user mode and in
// the system, that an event has cost, with what the servers of this process do for it: they
// change little on a busy machine.
//
// After them come takeovers: how long nothing is handled when a process shuts down, or is killed.
//
// cases.go lists what is measured, measure.go measures, bus.go and bare.go have the two sides,
// takeover.go has the takeovers.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"runtime/pprof"
	"slices"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) (err error) {
	flags := flag.NewFlagSet("bench", flag.ExitOnError)
	servers := flags.Int("servers", 1, "how many `servers` keep each stream: 1 or 3")
	synced := flags.Bool("sync", false, "the servers sync each message to the disk")
	url := flags.String("url", "", "the `address` of servers that run already; streams bench-* are made there, and deleted")
	total := flags.Duration("time", 6*time.Second, "how `long` each case is measured")
	only := flags.String("case", "", "only the cases whose names match this `expression`")
	alone := flags.String("side", "", "measure only this `side`, bus or nats.go, for a profile")
	profile := flags.String("cpuprofile", "", "write a profile of both sides, and of the servers of this process, to this `file`")
	memory := flags.String("memprofile", "", "write a profile of what both sides, and the servers of this process, allocate to this `file`")
	worker := flags.String("worker", "", "be the other process of a takeover, at this `address`; for the bench itself")
	flags.Parse(args)
	if *worker != "" {
		return work(*worker, *servers)
	}
	match, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	if *alone != "" && !slices.Contains(sideNames[:], *alone) {
		return fmt.Errorf("there is no side %q: it is %s or %s", *alone, sideNames[0], sideNames[1])
	}
	s := &setting{replicas: *servers, total: *total, url: *url, alone: *alone}
	defer s.close()
	if *url == "" {
		if err := s.startServers(*synced); err != nil {
			return err
		}
	}
	if *profile != "" {
		file, err := os.Create(*profile)
		if err != nil {
			return err
		}
		defer file.Close()
		if err := pprof.StartCPUProfile(file); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	if *memory != "" {
		file, err := os.Create(*memory)
		if err != nil {
			return err
		}
		defer file.Close()
		defer func() { err = errors.Join(err, pprof.Lookup("allocs").WriteTo(file, 0)) }()
	}
	load := "unknown"
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		load = strings.Join(strings.Fields(string(text))[:3], " ")
	}
	fmt.Printf("%d replicas, synced %t; load of the machine %s\n\n", *servers, *synced, load)
	fmt.Printf("%-14s %12s %12s %8s %12s %12s\n", "", "bus/s", "nats.go/s", "ratio", "bus µs", "nats.go µs")
	for _, c := range cases {
		if !match.MatchString(c.name) {
			continue
		}
		if err := s.measure(ctx, c); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	if *alone != "" {
		return nil
	}
	fmt.Println()
	return s.measureTakeovers(ctx, match.MatchString)
}
