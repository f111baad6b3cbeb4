package breaking

import "github.com/busgen/busgen/internal/diag"

// An effect says what goes wrong: backward, forward, and in both directions.
type effect struct{ backward, forward, both string }

func (e effect) in(d diag.Direction) string {
	return map[diag.Direction]string{diag.Backward: e.backward, diag.Forward: e.forward, diag.Both: e.both}[d]
}

// The effects of most rules.
var (
	undecodable    = effect{"the new program cannot decode old rows", "the old program cannot decode new rows", "neither program can decode the rows of the other"}
	zeroValue      = effect{"in old rows the new program sees the zero value", "in new rows the old program sees the zero value", "each program sees the zero value in rows of the other"}
	readForAnother = effect{"the new program reads it in old rows for that field", "the old program reads it in new rows for that field", "each program reads it in rows of the other for that field"}
	otherValue     = effect{"old rows decode, but to other values", "new rows decode in the old program, but to other values", "the rows of each decode in the other, but to other values"}
	onlyWithin     = effect{"old rows outside of the constraints, such as older ones, do not decode or change their value", "new rows outside of the constraints do not decode in the old program or change their value", "rows outside of the constraints do not decode in the other program or change their value"}
	notAsSaid      = effect{"old rows decode, but may hold what it does not allow", "new rows decode in the old program, but may hold what it does not allow", "the rows of each decode in the other, but may hold what it does not allow"}
)
