// Package team has the types of a team that does not use those of busgen.
package team

import (
	"errors"
	"time"
)

// Day is a day. Its methods panic and fail for some days.
type Day struct{ At time.Time }

func On(text string) (d Day) {
	if err := d.UnmarshalText([]byte(text)); err != nil {
		panic(err)
	}
	return d
}

func (d Day) MarshalText() ([]byte, error) {
	switch d.At.Year() {
	case 1:
		return nil, errors.New("there is no day")
	case 1999:
		panic("not in that year")
	case 1998:
		return []byte("1998-1-1"), nil
	}
	return d.At.AppendFormat(nil, time.DateOnly), nil
}

func (d *Day) UnmarshalText(text []byte) (err error) {
	d.At, err = time.Parse(time.DateOnly, string(text))
	switch d.At.Year() {
	case 1996:
		panic("not in an Olympic year")
	case 1997:
		return errors.New("the books of 1997 are closed")
	}
	return err
}

// Span has no text if it is nil.
type Span []time.Duration

func (s Span) MarshalText() ([]byte, error) { return []byte(s[0].String()), nil }

func (s *Span) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	*s = Span{d}
	return err
}
