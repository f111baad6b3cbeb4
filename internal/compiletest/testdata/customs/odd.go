// Package odd has types of the kinds that programs bring along.
package odd

import (
	"encoding/json"
	"errors"
)

// Sealed has neither exported fields nor methods: its JSON is always {}.
type Sealed struct{ secret string }

func NewSealed(secret string) Sealed { return Sealed{secret} }

// WriteOnly writes itself as something that it cannot read.
type WriteOnly struct{ N int }

func (w *WriteOnly) MarshalJSON() ([]byte, error) { return json.Marshal(w.N) }

// Angry panics when it is read.
type Angry struct{ N int }

func (*Angry) UnmarshalJSON([]byte) error { panic("not today") }

// Picky says by a method of its pointer whether it is valid.
type Picky struct{ Text string }

func (p *Picky) Validate() error {
	if p.Text == "" {
		return errors.New("is empty")
	}
	return nil
}

// Zero says of all its values that they are zero.
type Zero struct{ N int }

func (Zero) IsZero() bool { return true }

// Ints is an instance of a generic type.
type Ints = List[int]

type List[T any] struct{ items []T }

func Of[T any](items ...T) List[T] { return List[T]{items} }

func (l *List[T]) MarshalJSON() ([]byte, error)    { return json.Marshal(l.items) }
func (l *List[T]) UnmarshalJSON(text []byte) error { return json.Unmarshal(text, &l.items) }
