package runtime

// Generated code states which generation contract it was written for, and
// this package states which ones it understands. Each generated catalogue
// holds two constants of type [FitsGenerated] that overflow, and so do not
// compile, when the two have drifted apart. NewestContract grows with every
// change to what generated code expects of the runtime packages; OldestContract
// follows when an old form is no longer understood.
//
// These names stay in this package, because code of every contract refers to them here.
//
//	1  packages runtime/wire and runtime/deep; Problems and its like in package runtime
//	2  packages below runtime/gen: checks, deep and wire
const (
	OldestContract = 2
	NewestContract = 2
)

// FitsGenerated is the type of the compile-time checks in generated code. It
// is unsigned so that a negative difference is a compile error.
type FitsGenerated uint
