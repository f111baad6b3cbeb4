// Command bench measures how fast the bus is on NATS JetStream, as a ratio to what a program
// with nats.go does on the same servers at the same time.
//
//	go run ./bench                 one server in this process
//	go run ./bench -servers 3      three of them, and streams of three replicas
//	go run ./bench -sync           the servers write each message to the disk
//	go run ./bench -url nats://a,b,c -servers 3    servers that run already
//
// The bare side has a stream of the same settings and stores messages with the same payloads
// and headers of about the same size. The two take turns in short slices, so that both see the
// same machine. Absolute numbers tell more about the machine, and about how busy it is, than
// about the bus.
//
// cases.go lists what is measured, bus.go and bare.go have the two sides.
package main

import (
	"context"
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

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("bench", flag.ExitOnError)
	servers := flags.Int("servers", 1, "how many `servers` keep each stream: 1 or 3")
	synced := flags.Bool("sync", false, "the servers sync each message to the disk")
	url := flags.String("url", "", "the `address` of servers that run already; streams bench-* are made there, and deleted")
	total := flags.Duration("time", 6*time.Second, "how `long` each case is measured")
	only := flags.String("case", "", "only the cases whose names match this `expression`")
	profile := flags.String("cpuprofile", "", "write a profile of both sides, and of the servers of this process, to this `file`")
	flags.Parse(args)
	match, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	s := &setting{replicas: *servers, total: *total, url: *url}
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
	load := "unknown"
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		load = strings.Join(strings.Fields(string(text))[:3], " ")
	}
	fmt.Printf("%d replicas, synced %t; load of the machine %s\n\n%-14s %12s %12s %8s\n", *servers, *synced, load, "", "bus/s", "nats.go/s", "ratio")
	for _, c := range cases {
		if !match.MatchString(c.name) {
			continue
		}
		if err := s.measure(ctx, c); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return nil
}

// side works for about that long, and returns how many events it was.
type side func(d time.Duration) (int, error)

// measure lets the sides of a case take turns, and prints it.
func (s *setting) measure(ctx context.Context, c benchCase) error {
	defer s.end()
	bus, err := c.bus(ctx, s)
	if err != nil {
		return err
	}
	if c.bare == nil {
		return s.print(c.name, bus)
	}
	bare, err := c.bare(ctx, s)
	if err != nil {
		return err
	}
	sides := []side{bus, bare}
	order, speeds := []int{0, 1}, make([][]float64, 2)
	for until := time.Now().Add(s.total); len(speeds[0]) < 2 || time.Now().Before(until); slices.Reverse(order) {
		if err := ctx.Err(); err != nil {
			return err
		}
		for _, i := range order {
			began := time.Now()
			n, err := sides[i](150 * time.Millisecond)
			if err != nil {
				return err
			}
			speeds[i] = append(speeds[i], float64(n)/time.Since(began).Seconds())
		}
	}
	ratios := make([]float64, len(speeds[0]))
	for i := range ratios {
		ratios[i] = speeds[0][i] / speeds[1][i]
	}
	fmt.Printf("%-14s %12.0f %12.0f %8.2f\n", c.name, median(speeds[0]), median(speeds[1]), median(ratios))
	return nil
}

// print measures a case that has no bare side.
func (s *setting) print(name string, bus side) error {
	n, took := 0, time.Duration(0)
	for took < s.total {
		began := time.Now()
		more, err := bus(100 * time.Millisecond)
		if err != nil {
			return err
		}
		n, took = n+more, took+time.Since(began)
	}
	fmt.Printf("%-14s %12.0f\n", name, float64(n)/took.Seconds())
	return nil
}

func median(all []float64) float64 {
	all = slices.Clone(all)
	slices.Sort(all)
	return all[len(all)/2]
}
