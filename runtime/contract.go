package runtime

// Generated code states which generation contract it was written for, and
// this package states which ones it understands. Each generated catalogue
// holds two constants of type [FitsGenerated] that overflow, and so do not
// compile, when the two have drifted apart. NewestContract grows with every
// change to what generated code expects of this package; OldestContract
// follows when an old form is no longer understood.
const (
	OldestContract = 1
	NewestContract = 1
)

// FitsGenerated is the type of the compile-time checks in generated code. It
// is unsigned so that a negative difference is a compile error.
type FitsGenerated uint
