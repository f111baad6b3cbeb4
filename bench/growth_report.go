package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"runtime"
	"time"
)

// A growthReport is printed dimension by dimension, as they are done.
type growthReport interface {
	add(g growth) error
	end(dir string) error
}

// growthLine is what a line of JSON has.
type growthLine struct {
	Dimension    string    `json:"dimension"`
	Operation    string    `json:"operation"`
	Sizes        []int     `json:"sizes"`
	Milliseconds []float64 `json:"ms"`
	Exponent     float64   `json:"exponent"`
}

type growthLines struct{ w io.Writer }

func (l growthLines) add(g growth) error {
	for _, o := range operations {
		took := g.took[o.name]
		if took == nil {
			continue
		}
		line := growthLine{Dimension: g.dimension.name, Operation: o.name, Sizes: g.sizes,
			Exponent: math.Round(exponent(g.sizes, took)*100) / 100}
		for _, t := range took {
			line.Milliseconds = append(line.Milliseconds, float64(t.Microseconds())/1000)
		}
		if err := json.NewEncoder(l.w).Encode(line); err != nil {
			return err
		}
	}
	return nil
}

func (growthLines) end(string) error { return nil }

type growthTable struct{ w io.Writer }

func (t growthTable) add(g growth) error {
	fmt.Fprintf(t.w, "%s: %s\n%-14s", g.dimension.name, g.dimension.doc, "")
	for _, size := range g.sizes {
		fmt.Fprintf(t.w, " %12s", thousands(float64(size)))
	}
	fmt.Fprintf(t.w, " %9s\n", "exponent")
	for _, o := range operations {
		took := g.took[o.name]
		if took == nil {
			continue
		}
		fmt.Fprintf(t.w, "  %-12s", o.name)
		for _, one := range took {
			fmt.Fprintf(t.w, " %9.2f ms", float64(one)/float64(time.Millisecond))
		}
		fmt.Fprintf(t.w, " %9.2f\n", exponent(g.sizes, took))
	}
	_, err := fmt.Fprintln(t.w)
	return err
}

func (t growthTable) end(dir string) error {
	for _, o := range operations {
		fmt.Fprintf(t.w, "%-14s%s\n", o.name, o.doc)
	}
	_, err := fmt.Fprintf(t.w, `exponent      0: it does not grow, 1: in proportion to the size, 0.5: with its square root
%s/%s, %d cores, %s, files in %s
`, runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version(), dir)
	return err
}
