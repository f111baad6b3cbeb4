package sqlite

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
)

const (
	claimSize   = 32
	claimsBytes = 64 << 10 // what is mapped; workers beyond that write to the file
	claimsLimit = 16 << 20 // what is read; nobody has that many workers
)

// claim is what the file says about one worker.
type claim struct {
	subscription int64
	running      int64 // seq of the event at hand; 0 for none
	highest      int64 // the highest seq ever begun
	life         uint32
	executions   uint16 // of the delivery at hand, before this one, the last 16 bits: this one is on record when the log knows of more
	turn         uint16 // counts what the worker has written
}

func (c claim) encode(b []byte) {
	binary.LittleEndian.PutUint32(b[0:], uint32(c.subscription))
	binary.LittleEndian.PutUint16(b[4:], c.turn)
	binary.LittleEndian.PutUint16(b[6:], c.executions)
	binary.LittleEndian.PutUint64(b[8:], uint64(c.running))
	binary.LittleEndian.PutUint64(b[16:], uint64(c.highest))
	binary.LittleEndian.PutUint32(b[24:], c.life)
	binary.LittleEndian.PutUint32(b[28:], crc32.ChecksumIEEE(b[:28]))
}

// decodeClaim reports false for a place that was never used or torn by a
// power cut.
func decodeClaim(b []byte) (claim, bool) {
	if crc32.ChecksumIEEE(b[:28]) != binary.LittleEndian.Uint32(b[28:]) {
		return claim{}, false
	}
	c := claim{
		subscription: int64(binary.LittleEndian.Uint32(b[0:])),
		turn:         binary.LittleEndian.Uint16(b[4:]),
		executions:   binary.LittleEndian.Uint16(b[6:]),
		running:      int64(binary.LittleEndian.Uint64(b[8:])),
		highest:      int64(binary.LittleEndian.Uint64(b[16:])),
		life:         binary.LittleEndian.Uint32(b[24:]),
	}
	return c, c.subscription != 0
}

// claimsOf returns what the two places of a worker say.
func claimsOf(content []byte) []claim {
	one, ok := decodeClaim(content)
	if len(content) < 2*claimSize {
		content = append(content[:claimSize:claimSize], make([]byte, claimSize)...)
	}
	first, second := content[:claimSize], content[claimSize:2*claimSize]
	other, otherOK := decodeClaim(second)
	switch {
	case ok && otherOK && one.subscription == other.subscription && one.life == other.life:
		if int16(other.turn-one.turn) > 0 {
			one, other = other, one
		}
		one.highest = max(one.highest, other.highest)
		return []claim{one}
	case ok && otherOK:
		return []claim{one, other}
	case ok:
		return []claim{beforeTorn(one, second)}
	case otherOK:
		return []claim{beforeTorn(other, first)}
	}
	return nil
}

// beforeTorn returns what a claim says beside a torn one: its worker was about
// to go on, so it was through with what the claim says.
func beforeTorn(one claim, beside []byte) claim {
	if slices.ContainsFunc(beside, func(b byte) bool { return b != 0 }) {
		one.running = 0
	}
	return one
}
